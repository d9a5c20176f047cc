package iwarp

import (
	"errors"
	"math/rand/v2"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// region is registered memory.
type region struct {
	verbs.Registration
	stag    uint32
	address uint64 // tagged offset of the first byte
	// revoked says that peers may not use it any more: a peer's invalidate or
	// Deregister.
	revoked bool
}

// regions is the table of STags. An STag is
//
//	0xffffff00  slot of the table
//	0x000000ff  key, another one each time the slot is used
//
// so that the STag of memory that is gone does not name what came in its place.
type regions struct {
	slots []*region
	keys  []uint8
	free  []uint32
}

const (
	slotShift = 8
	slotsMax  = 1 << 24
)

// add registers memory.
func (t *regions) add(r verbs.Registration) (*region, error) {
	if len(t.free) == 0 {
		if len(t.slots) == slotsMax {
			return nil, verbs.ErrInsufficientResources
		}
		t.free = append(t.free, uint32(len(t.slots)))
		t.slots = append(t.slots, nil)
		t.keys = append(t.keys, uint8(rand.Uint32()))
	}
	slot := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	t.keys[slot]++
	m := &region{Registration: r, stag: slot<<slotShift | uint32(t.keys[slot]), address: addressOf(r.Data)}
	t.slots[slot] = m
	return m, nil
}

// find returns the region of an STag, or nil.
func (t *regions) find(stag uint32) *region {
	slot := stag >> slotShift
	if int(slot) >= len(t.slots) {
		return nil
	}
	if m := t.slots[slot]; m != nil && m.stag == stag {
		return m
	}
	return nil
}

// remove takes a region out of the table.
func (t *regions) remove(m *region) {
	m.revoked = true
	slot := m.stag >> slotShift
	t.slots[slot] = nil
	t.free = append(t.free, slot)
}

// writable returns the bytes that a peer of a protection domain may write, or the
// fault for which it is terminated: DDP's own, and RDMAP's for a lack of rights,
// which DDP does not know.
func (t *regions) writable(d *verbs.ProtectionDomain, stag uint32, to uint64, n int) (*region, []byte, error) {
	m := t.find(stag)
	switch {
	case m == nil || m.revoked:
		return nil, nil, ddp.ErrSTag
	case m.Domain != d:
		return nil, nil, ddp.ErrNotAssociated
	case m.Access&verbs.AccessRemoteWrite == 0:
		return nil, nil, rdmap.ErrAccess
	}
	at, err := ddp.Bounds(m.address, len(m.Data), to, n)
	if err != nil {
		return nil, nil, err
	}
	return m, m.Data[at : at+n], nil
}

// readable returns the bytes that a peer of a protection domain may read, or the
// fault for which it is terminated.
func (t *regions) readable(d *verbs.ProtectionDomain, stag uint32, to uint64, n int) (*region, []byte, error) {
	m := t.find(stag)
	switch {
	case m == nil || m.revoked:
		return nil, nil, rdmap.ErrSTag
	case m.Domain != d:
		return nil, nil, rdmap.ErrNotAssociated
	case m.Access&verbs.AccessRemoteRead == 0:
		return nil, nil, rdmap.ErrAccess
	}
	at, err := ddp.Bounds(m.address, len(m.Data), to, n)
	switch {
	case err == nil:
		return m, m.Data[at : at+n], nil
	case errors.Is(err, ddp.ErrWrap):
		return nil, nil, rdmap.ErrWrap
	default:
		return nil, nil, rdmap.ErrBounds
	}
}

// invalidate ends peers' access by an STag at the wish of a peer, whose protection
// domain has to be that of the memory (RFC 5040 section 5.3).
func (t *regions) invalidate(d *verbs.ProtectionDomain, stag uint32) error {
	m := t.find(stag)
	switch {
	case m == nil || m.revoked:
		return rdmap.ErrInvalidate
	case m.Domain != d:
		return rdmap.ErrProtectedSTag
	}
	m.revoked = true
	return nil
}
