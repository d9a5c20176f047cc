package rdma

import (
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// exposure is memory that this rank has exposed. What peers Get and Put is checked
// by the adapter; this is for what they ask by message.
type exposure struct {
	region *verbs.MemoryRegion
	access transport.Access
	empty  bool
}

// exposures by the Token of their Key.
type exposures map[uint64]*exposure

// slice returns n bytes at a key that a peer names, or false if it may not.
func (x exposures) slice(k transport.Key, n int, access transport.Access) ([]byte, bool) {
	e := x[k.Token]
	if e == nil || e.empty || e.access&access != access || n < 0 {
		return nil, false
	}
	b := e.region.Bytes()
	off := k.Addr - e.region.Remote(0, 0).Address
	if off > uint64(len(b)) || uint64(n) > uint64(len(b))-off {
		return nil, false
	}
	return b[off : off+uint64(n)], true
}

// Expose implements transport.Transport: it registers the memory.
func (t *Transport) Expose(b []byte, access transport.Access) (transport.Key, error) {
	if t.closed {
		return transport.Key{}, t.failure("expose", -1, transport.ErrClosed)
	}
	e := &exposure{access: access, empty: len(b) == 0}
	rights := verbs.Access(0)
	if access&transport.AccessRead != 0 {
		rights |= verbs.AccessRemoteRead
	}
	if access&transport.AccessWrite != 0 {
		rights |= verbs.AccessRemoteWrite | verbs.AccessLocalWrite
	}
	if e.empty {
		b, rights = make([]byte, 1), 0 // a key of its own that reaches nothing
	}
	var err error
	if e.region, err = t.domain.Register(b, rights); err != nil {
		return transport.Key{}, t.failure("expose", -1, err)
	}
	r := e.region.Remote(0, 0)
	k := transport.Key{Addr: r.Address, Token: uint64(r.RKey)}
	t.exposed[k.Token] = e
	return k, nil
}

// Conceal implements transport.Transport: when it returns the adapter refuses the
// key.
func (t *Transport) Conceal(k transport.Key) error {
	if t.closed {
		return t.failure("conceal", -1, transport.ErrClosed)
	}
	e := t.exposed[k.Token]
	if e == nil {
		return t.failure("conceal", -1, transport.ErrBadKey)
	}
	delete(t.exposed, k.Token)
	if err := e.region.Close(); err != nil {
		return t.failure("conceal", -1, err)
	}
	return nil
}
