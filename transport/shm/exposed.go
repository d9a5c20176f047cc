package shm

import (
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/transport"
)

// The Token of a Key says to which memory its Addr refers.
//
//	0           no memory
//	1           the arena; Addr is an offset
//	bits 63     1: private memory; Addr is an address
//	bits 32-61  generation of the slot
//	bits  0-31  slot in the owner's table of exposed memory
//
// A peer that copies private memory by a system call uses the address, and looks the key up in the
// owner's listing (see listingBytes below). If the slot lies beyond the listing, the owner makes the copy. Copies of
// private memory that the owner makes for a peer, and those between ranks of one process, access only memory that is
// in the table.
const (
	tokenArena   = 1
	tokenPrivate = 1 << 63

	tokenGenerationShift = 32
	tokenGenerationMask  = 1<<30 - 1
	tokenSlotMask        = 1<<32 - 1
)

// exposure is one exposed slice.
type exposure struct {
	bytes  []byte
	access transport.Access
	// generation is part of the key. It changes when the exposure ends, so that keys of earlier
	// exposures in the same slot are not valid.
	generation uint64
}

// exposures is the table of the slices that a rank has exposed.
type exposures struct {
	// mu guards the table. use holds it during a copy, so that Conceal returns only after
	// the copy.
	mu    sync.Mutex
	table []exposure
	free  []uint32
	// listing holds the first entries of the table, so that peers can read them. Its words are nil
	// if the ranks share a process.
	listing segment
}

// add enters b into the table and returns its key.
func (x *exposures) add(b []byte, access transport.Access) transport.Key {
	x.mu.Lock()
	defer x.mu.Unlock()
	var slot uint32
	if n := len(x.free); n > 0 {
		slot, x.free = x.free[n-1], x.free[:n-1]
	} else {
		slot = uint32(len(x.table))
		x.table = append(x.table, exposure{})
	}
	e := &x.table[slot]
	e.bytes, e.access = b, access
	token := tokenPrivate | e.generation<<tokenGenerationShift | uint64(slot)
	if inListing(token) && x.listing.words != nil {
		line := x.listing.at(int(slot)*listingBytes, listingBytes)
		processor.Store64(line.word(listingAddr), addressOf(b))
		processor.Store64(line.word(listingLength), uint64(len(b)))
		processor.Store64(line.word(listingState), listingWord(token, access))
	}
	return transport.Key{Addr: addressOf(b), Token: token}
}

// remove removes from the table the slice that a key names. It returns false if the key is not
// valid.
func (x *exposures) remove(k transport.Key) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.entry(k)
	if e == nil {
		return false
	}
	e.bytes = nil
	slot := k.Token & tokenSlotMask
	if inListing(k.Token) && x.listing.words != nil {
		processor.Store64(x.listing.word(int(slot)*listingBytes+listingState), 0)
	}
	e.generation = (e.generation + 1) & tokenGenerationMask
	x.free = append(x.free, uint32(slot))
	return true
}

// entry returns the entry of a key, or nil if the key is not valid. mu is held.
func (x *exposures) entry(k transport.Key) *exposure {
	slot := k.Token & tokenSlotMask
	if k.Token&tokenPrivate == 0 || slot >= uint64(len(x.table)) {
		return nil
	}
	e := &x.table[slot]
	if e.generation != k.Token>>tokenGenerationShift&tokenGenerationMask {
		return nil
	}
	return e
}

// use calls f with the n bytes at k. The bytes stay exposed during f. If the bytes are not exposed
// for the access, use returns false and does not call f.
func (x *exposures) use(k transport.Key, n int, access transport.Access, f func(b []byte)) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.entry(k)
	if e == nil || e.access&access != access {
		return false
	}
	off := k.Addr - addressOf(e.bytes)
	if size := uint64(len(e.bytes)); off > size || uint64(n) > size-off {
		return false
	}
	f(e.bytes[off : off+uint64(n)])
	return true
}

// A rank lists its exposed memory in its control area, for peers that copy by system calls. An
// entry of the listing has three words: state, address and length. The state is 0 if the entry is
// free. Otherwise it holds the generation and the access of the exposure. The owner changes address
// and length only while the state is 0.
const (
	listingState  = 0
	listingAddr   = 8
	listingLength = 16
	listingBytes  = 32
)

func listingWord(token uint64, access transport.Access) uint64 {
	return 1<<63 | token>>tokenGenerationShift&tokenGenerationMask<<8 | uint64(access)
}

// inListing reports whether the slot of a key of private memory lies in the listing. Peers cannot check other keys.
func inListing(token uint64) bool { return token&tokenSlotMask < listingSlots }

// listed reports whether n bytes at k are exposed for the access. The slot of k must lie in the listing.
func listed(listing segment, k transport.Key, n int, access transport.Access) bool {
	line := listing.at(int(k.Token&tokenSlotMask)*listingBytes, listingBytes)
	state := atomic.LoadUint64(line.word(listingState))
	addr := atomic.LoadUint64(line.word(listingAddr))
	length := atomic.LoadUint64(line.word(listingLength))
	want := listingWord(k.Token, access)
	off := k.Addr - addr
	return state&^uint64(0xff) == want&^uint64(0xff) && state&uint64(access) == uint64(access) &&
		off <= length && uint64(n) <= length-off &&
		atomic.LoadUint64(line.word(listingState)) == state
}
