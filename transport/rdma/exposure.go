package rdma

import (
	"errors"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// exposure is memory that this rank has exposed. The adapter itself checks the Gets and Puts of
// peers. This rank uses the exposure to check the requests that peers send as messages.
type exposure struct {
	data   []byte
	access transport.Access
	rights verbs.Access
	empty  bool
	// home is the rail whose key was given to the peers. address is the address of data for this
	// key. If copied is false, memory is the registration on home. If copied is true, data is a
	// copy in bounce. others are the registrations on other rails. Each of these registrations is
	// made when a peer asks for its key. others is nil if no peer has asked for such a key.
	home    *rail
	address uint64
	memory  registration
	bounce  bounce
	copied  bool
	others  map[*rail]registration
}

// exposures maps the Token of a Key to the exposure. The lower 32 bits of the Token are the key of
// the adapter. The next 8 bits are the number of the rail. The upper 24 bits are a number of the
// exposure if the adapter's key covers more memory than the exposure. Otherwise they are 0.
type exposures map[uint64]*exposure

// railShift is the position of the number of the rail in a Token, and numberShift the position of
// the number of the exposure, which is at most numberMost.
const (
	railShift   = 32
	numberShift = 40
	numberMost  = 1<<(64-numberShift) - 1
)

// slice returns the n bytes at the address in a key that a peer has sent. It returns false if the
// peer may not access these bytes.
func (x exposures) slice(k transport.Key, n int, access transport.Access) ([]byte, bool) {
	e := x[k.Token]
	if e == nil || e.empty || e.access&access != access || n < 0 {
		return nil, false
	}
	b := e.data
	off := k.Addr - e.address
	if off > uint64(len(b)) || uint64(n) > uint64(len(b))-off {
		return nil, false
	}
	return b[off : off+uint64(n)], true
}

// errRemoved is the error that exposures.on returns for a rail whose adapter was removed.
var errRemoved = errors.New("its adapter was removed")

// on returns the address and the key by which a peer accesses, through rail r, the byte that k names.
// It registers the exposure on r if necessary. It registers nothing on a removed adapter, because the
// registration would wait for the lock that the adapter holds while it is being closed.
func (x exposures) on(k transport.Key, r *rail) (address uint64, key uint32, err error) {
	e := x[k.Token]
	if r == e.home {
		return k.Addr, uint32(k.Token), nil
	}
	m, ok := e.others[r]
	if !ok {
		if r.removed {
			return 0, 0, errRemoved
		}
		if m, err = r.registered.expose(e.data, e.rights); err != nil {
			return 0, 0, err
		}
		if e.others == nil {
			e.others = map[*rail]registration{}
		}
		e.others[r] = m
	}
	at := m.region.Remote(m.off, 0)
	return k.Addr - e.address + at.Address, at.RKey, nil
}

// home returns the rail on which memory is exposed: the rail with the largest number of connections.
// A rail that is out is chosen only if all rails are out.
func (t *Transport) home() *rail {
	best := t.polled[0]
	for _, r := range t.polled[1:] {
		if r.links > best.links || best.out() != nil && r.out() == nil {
			best = r
		}
	}
	return best
}

// Expose implements transport.Transport. It registers the memory. If a registration pins pages, short
// memory outside of the arena that peers may only read is copied instead.
func (t *Transport) Expose(b []byte, access transport.Access) (transport.Key, error) {
	if t.closed {
		return transport.Key{}, t.failure("expose", -1, transport.ErrClosed)
	}
	e := t.spareExposures.take()
	*e = exposure{data: b, access: access, empty: len(b) == 0, home: t.home()}
	if access&transport.AccessRead != 0 {
		e.rights |= verbs.AccessRemoteRead
	}
	if access&transport.AccessWrite != 0 {
		e.rights |= verbs.AccessRemoteWrite | verbs.AccessLocalWrite
	}
	if e.empty {
		e.data, e.rights = make([]byte, 1), 0 // a key of its own that gives access to nothing
	}
	g := e.home.registered
	if access == transport.AccessRead && len(b) > 0 && len(b) <= bounceBytes && g.copies(b) {
		if e.bounce, e.copied = g.bounces.expose(); e.copied {
			e.data = e.bounce.bytes(len(b))
			copy(e.data, b)
			g.counts.copied++
			return t.enter(e, e.bounce.region, e.bounce.off, true), nil
		}
	}
	var err error
	if e.memory, err = g.expose(e.data, e.rights); err != nil {
		if g.pins {
			t.complain(err)
		}
		return transport.Key{}, t.failure("expose", -1, err)
	}
	return t.enter(e, e.memory.region, e.memory.off, e.memory.lasting != nil), nil
}

// enter makes the key of an exposure that begins at off in a region, and adds the exposure to
// t.exposed. The argument shared reports whether the region's key also covers other memory.
func (t *Transport) enter(e *exposure, region *verbs.MemoryRegion, off int, shared bool) transport.Key {
	at := region.Remote(off, 0)
	e.address = at.Address
	own := uint64(at.RKey) | uint64(e.home.index)<<railShift
	k := transport.Key{Addr: at.Address, Token: own}
	for taken := shared; taken; _, taken = t.exposed[k.Token] {
		t.exposures = t.exposures%numberMost + 1
		k.Token = own | uint64(t.exposures)<<numberShift
	}
	t.exposed[k.Token] = e
	return k
}

// Conceal implements transport.Transport. When Conceal returns, the adapter refuses the key of an
// exposure with a registration of its own. A copy is a part of a larger region, which stays
// registered. Memory in the arena that peers may only read can also be a part of such a region.
func (t *Transport) Conceal(k transport.Key) error {
	if t.closed {
		return t.failure("conceal", -1, transport.ErrClosed)
	}
	e := t.exposed[k.Token]
	if e == nil {
		return t.failure("conceal", -1, transport.ErrBadKey)
	}
	delete(t.exposed, k.Token)
	var err error
	if e.copied {
		e.home.registered.bounces.conceal(e.bounce)
	} else if err = e.home.registered.give(e.memory); e.home.removed {
		err = nil // the registration has ended with the adapter
	}
	for r, m := range e.others {
		if other := r.registered.give(m); !r.removed {
			err = errors.Join(err, other)
		}
	}
	*e = exposure{}
	t.spareExposures.give(e)
	if err != nil {
		return t.failure("conceal", -1, err)
	}
	return nil
}
