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
	// revoked is true when peers may no longer use the region, because a peer has invalidated the
	// region or the region was deregistered.
	revoked bool
}

// regions is the table of STags. All 32 bits of an STag are random. Therefore a peer that knows
// some STags of a device knows neither the next STag nor the STags of other memory of the domain.
//
// A peer that guesses an STag hits an STag in use with a probability of n/2^32, where n is the
// number of regions. Each new registration uses the STag of a given deregistered region again with
// a probability of 2^-32. A wrong guess ends the connection on which it arrived, so each guess
// costs a connection. An STag that is used again gives access only within the protection domain and
// with the access rights of its new memory.
type regions struct {
	named map[uint32]*region
	// recent caches the regions that were looked up last, indexed by the lowest bits of their
	// STags, so that the data path finds them without the map.
	recent [recentMax]*region
	// random holds the random bytes that are not used for an STag yet.
	random []byte
	// batch is the memory that random refers to.
	batch [randomBatch]byte
}

const (
	regionsMax = 1 << 24
	stagLength = 4
	// recentMax is the number of entries of recent. With this number, two regions share an entry
	// with a probability of only 1 in 256.
	recentMax = 256
	// randomBatch is the number of random bytes that are read at a time. They suffice for 1,024
	// registrations. So only one of 1,024 registrations makes a system call for random bytes.
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

// unused draws random STags until an STag names no memory. The result is never zero, so that a
// field that was never set names no memory. The loop ends soon, because a draw hits an STag
// in use with a probability of at most 1 in 256 (regionsMax).
func (t *regions) unused() uint32 {
	for {
		if len(t.random) < stagLength {
			t.random = t.batch[:]
			// Read returns no error. If it cannot read random bytes, crypto/rand ends the process.
			_, _ = rand.Read(t.random)
		}
		stag := binary.NativeEndian.Uint32(t.random)
		t.random = t.random[stagLength:]
		if _, used := t.named[stag]; stag != 0 && !used {
			return stag
		}
	}
}

// find returns the region with an STag, or nil.
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

// remove revokes a region and removes it from the table.
func (t *regions) remove(m *region) {
	m.revoked = true
	delete(t.named, m.stag)
	if place := &t.recent[m.stag%recentMax]; *place == m {
		*place = nil
	}
}

// writable returns the region and the bytes that a peer wants to write, if the peer may write them.
// d is the protection domain of the peer's connection. If the peer may not write them, writable
// returns the error for which the connection is terminated. If an access right is missing, the
// error is an error of RDMAP, because DDP has no such error. In all other cases the error is an
// error of DDP.
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

// readable returns the bytes that a peer wants to read, if the peer may read them. Otherwise it
// returns the error for which the connection is terminated. d is the protection domain of the
// peer's connection.
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

// invalidate revokes a region at the request of a peer. The peer's connection must belong to the
// protection domain of the region (RFC 5040 section 5.3).
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
