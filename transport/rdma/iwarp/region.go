package iwarp

import (
	"crypto/rand"
	"encoding/binary"
	"errors"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// region is registered memory.
type region struct {
	domain  *domain
	data    []byte
	access  provider.Access
	stag    uint32
	address uint64 // tagged offset of the first byte
	// revoked says that peers may not use it any more: a peer's invalidate or
	// Deregister.
	revoked bool
}

// regions is the table of STags. All 32 bits of an STag are random, so that a peer
// that knows some STags of a device does not know the next one, nor those of other
// memory of the domain.
//
// A number that is not in use names memory with a probability of n/2^32, n being the
// number of regions: this holds for a guess, and for the STag of memory that is gone,
// which each new registration brings back with 2^-32. A wrong guess ends the connection
// that it came by, so a guess costs a connection; and an STag that comes back serves the
// protection domain and the rights of its new memory only.
type regions struct {
	named map[uint32]*region
	// recent are regions that were looked up last, by the lowest bits of their STags: the
	// data path finds those without the map.
	recent [recentMax]*region
	// random are bytes that no STag has been made of yet.
	random []byte
	// batch is the memory of random.
	batch [randomBatch]byte
}

const (
	regionsMax = 1 << 24
	stagLength = 4
	// recentMax makes it rare (1 in 256) that two regions in use share a place.
	recentMax = 256
	// randomBatch lets a registration pay for a system call once in 1,024.
	randomBatch = 1024 * stagLength
)

// add registers memory.
func (t *regions) add(d *domain, data []byte, access provider.Access) (*region, error) {
	if len(t.named) == regionsMax {
		return nil, provider.ErrInsufficientResources
	}
	if t.named == nil {
		t.named = map[uint32]*region{}
	}
	m := &region{domain: d, data: data, access: access, stag: t.unused(), address: addressOf(data)}
	t.named[m.stag] = m
	return m, nil
}

// unused draws an STag that names nothing. Zero is none: what was never set must not
// name memory. Of 256 draws one is in use at most (regionsMax), so it ends soon.
func (t *regions) unused() uint32 {
	for {
		if len(t.random) < stagLength {
			t.random = t.batch[:]
			// It does not fail: crypto/rand ends the process instead.
			_, _ = rand.Read(t.random)
		}
		stag := binary.NativeEndian.Uint32(t.random)
		t.random = t.random[stagLength:]
		if _, used := t.named[stag]; stag != 0 && !used {
			return stag
		}
	}
}

// find returns the region of an STag, or nil.
func (t *regions) find(stag uint32) *region {
	place := &t.recent[stag%recentMax]
	if m := *place; m != nil && m.stag == stag {
		return m
	}
	m := t.named[stag]
	if m != nil {
		*place = m
	}
	return m
}

// remove takes a region out of the table.
func (t *regions) remove(m *region) {
	m.revoked = true
	delete(t.named, m.stag)
	if place := &t.recent[m.stag%recentMax]; *place == m {
		*place = nil
	}
}

// writable returns the bytes that a peer of a protection domain may write, or the
// fault for which it is terminated: DDP's own, and RDMAP's for a lack of rights,
// which DDP does not know.
func (t *regions) writable(d *domain, stag uint32, to uint64, n int) (*region, []byte, error) {
	m := t.find(stag)
	switch {
	case m == nil || m.revoked:
		return nil, nil, ddp.ErrSTag
	case m.domain != d:
		return nil, nil, ddp.ErrNotAssociated
	case m.access&provider.AccessRemoteWrite == 0:
		return nil, nil, rdmap.ErrAccess
	}
	at, err := ddp.Bounds(m.address, len(m.data), to, n)
	if err != nil {
		return nil, nil, err
	}
	return m, m.data[at : at+n], nil
}

// readable returns the bytes that a peer of a protection domain may read, or the
// fault for which it is terminated.
func (t *regions) readable(d *domain, stag uint32, to uint64, n int) ([]byte, error) {
	m := t.find(stag)
	switch {
	case m == nil || m.revoked:
		return nil, rdmap.ErrSTag
	case m.domain != d:
		return nil, rdmap.ErrNotAssociated
	case m.access&provider.AccessRemoteRead == 0:
		return nil, rdmap.ErrAccess
	}
	at, err := ddp.Bounds(m.address, len(m.data), to, n)
	switch {
	case err == nil:
		return m.data[at : at+n], nil
	case errors.Is(err, ddp.ErrWrap):
		return nil, rdmap.ErrWrap
	default:
		return nil, rdmap.ErrBounds
	}
}

// invalidate ends peers' access by an STag at the request of a peer, whose protection
// domain has to be that of the memory (RFC 5040 section 5.3).
func (t *regions) invalidate(d *domain, stag uint32) error {
	m := t.find(stag)
	switch {
	case m == nil || m.revoked:
		return rdmap.ErrInvalidate
	case m.domain != d:
		return rdmap.ErrProtectedSTag
	}
	m.revoked = true
	return nil
}
