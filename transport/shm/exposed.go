package shm

import (
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/transport"
)

// The Token of a Key says which memory its Addr is in.
//
//	0           no memory
//	1           the arena; Addr is an offset
//	bits 63     1: private memory; Addr is an address
//	bits 62     1: the slot lies beyond the listing
//	bits 32-61  generation of the slot
//	bits  0-31  slot in the owner's table of exposed memory
//
// Peers that copy by themselves use the address alone. The table is for copies
// that the owner makes on a peer's behalf: it makes none outside of it.
const (
	tokenArena    = 1
	tokenPrivate  = 1 << 63
	tokenUnlisted = 1 << 62

	tokenGenerationShift = 32
	tokenGenerationMask  = 1<<30 - 1
	tokenSlotMask        = 1<<32 - 1
)

// exposure is one exposed slice.
type exposure struct {
	bytes  []byte
	access transport.Access
	// generation is in the key of what is exposed; no key of a free slot has it.
	generation uint64
}

// exposures is the table of what a rank has exposed.
type exposures struct {
	// mu guards the table, and in one process it is held while a peer copies, so
	// that Conceal returns after it.
	mu    sync.Mutex
	table []exposure
	free  []uint32
	// listing shows the first entries to peers; words are nil in one process.
	listing segment
}

// add enters b.
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
	switch {
	case slot >= listingSlots:
		token |= tokenUnlisted
	case x.listing.words != nil:
		line := x.listing.at(int(slot)*listingBytes, listingBytes)
		processor.Store64(line.word(listingAddr), addressOf(b))
		processor.Store64(line.word(listingLength), uint64(len(b)))
		processor.Store64(line.word(listingState), listingWord(token, access))
	}
	return transport.Key{Addr: addressOf(b), Token: token}
}

// remove takes the memory of a key out.
func (x *exposures) remove(k transport.Key) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.entry(k)
	if e == nil {
		return false
	}
	e.bytes = nil
	if slot := k.Token & tokenSlotMask; slot < listingSlots && x.listing.words != nil {
		processor.Store64(x.listing.word(int(slot)*listingBytes+listingState), 0)
	}
	e.generation = (e.generation + 1) & tokenGenerationMask
	x.free = append(x.free, uint32(k.Token&tokenSlotMask))
	return true
}

// entry returns the entry of a key that is good. mu is held.
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

// use calls f with the n bytes at k, and returns false if they are not exposed
// for that access. They stay exposed during f.
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

// The listing of a rank's exposed memory in its control area, for peers that
// copy by themselves. An entry has three words: its state (0, or generation and
// access of what is exposed), address and length. The owner clears the state
// before it changes the others, and sets it after.
const (
	listingState  = 0
	listingAddr   = 8
	listingLength = 16
	listingBytes  = 32
)

func listingWord(token uint64, access transport.Access) uint64 {
	return 1<<63 | token>>tokenGenerationShift&tokenGenerationMask<<8 | uint64(access)
}

// listed says that n bytes at k are exposed for that access. What lies beyond
// the listing is taken on trust.
func listed(listing segment, k transport.Key, n int, access transport.Access) bool {
	slot := k.Token & tokenSlotMask
	if slot >= listingSlots {
		return k.Token&tokenUnlisted != 0
	}
	line := listing.at(int(slot)*listingBytes, listingBytes)
	state := atomic.LoadUint64(line.word(listingState))
	addr := atomic.LoadUint64(line.word(listingAddr))
	length := atomic.LoadUint64(line.word(listingLength))
	want := listingWord(k.Token, access)
	off := k.Addr - addr
	return state&^uint64(0xff) == want&^uint64(0xff) && state&uint64(access) == uint64(access) &&
		off <= length && uint64(n) <= length-off &&
		atomic.LoadUint64(line.word(listingState)) == state
}
