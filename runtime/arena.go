package runtime

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime/internal/arena"
	"github.com/gorun-hpc/gorun/transport"
)

// neighbours is what the transport of a node offers to ranks that use each
// other's memory in place. Its methods may be called from any goroutine.
type neighbours interface {
	// Arena is this rank's range of node memory.
	Arena() transport.Arena
	// Shared returns n bytes of the arena of a rank of the node.
	Shared(rank int, k transport.Key, n int) ([]byte, error)
	// Ring ends the sleep of a rank of the node.
	Ring(rank int)
	// Barred reports whether the processors of this process pass a barrier before that rank
	// sleeps.
	Barred(rank int) bool
}

// memory is this rank's arena, and what is needed to use those of its node.
type memory struct {
	arena *arena.Arena
	node  neighbours
	// base is the address in a Key of the arena's first byte.
	base uint64

	// losses counts the ranks that are down. A goroutine that waits for a word in shared
	// memory compares it, and takes mu only after a change.
	losses atomic.Uint32

	// mu guards the fields below. The engine's lock may be held when it is taken,
	// and the arena's mutex may be taken under it.
	mu sync.Mutex
	// down holds why a rank is down, by world rank.
	down map[int]error
	// parts are the parts of freed Shareds that other members may still use, freed
	// is their number.
	parts []part
	freed atomic.Uint32
	// waits are the Shareds with goroutines in Await, waiting is their number.
	waits   []*Shared
	waiting atomic.Uint32
}

// newMemory returns the memory of a rank with its range. private says that other ranks are
// other processes: only then is the range a mapping of its own, so that access to guarded
// memory can be removed for this rank alone.
//
// own is its range, node.Arena() or what stands in its place.
func newMemory(node neighbours, own transport.Arena, rank int, private, guarded bool) *memory {
	cfg := arena.Config{Rank: rank, Contiguous: private, Guarded: private && guarded}
	if !private {
		// The garbage collector returns the heap's memory.
		cfg.Keep = math.MaxInt
	}
	return &memory{
		arena: arena.New(own, cfg), node: node,
		base: own.Key(0).Addr, down: make(map[int]error),
	}
}

// sleeper returns the rank's Sleeper, which is to be the engine's, in a form that announces
// its sleep to the ranks that share memory with it.
func (m *memory) sleeper(s transport.Sleeper) transport.Sleeper { return dozer{s, m} }

// released records that a rank returned the memory at an address of a Key. A rank that
// does not hold it, or an address of no such memory, changes nothing. It may be called with
// the engine's lock held.
func (m *memory) released(holder int, addr uint64) { _ = m.arena.Return(addr-m.base, holder) }

// lost takes back the leases of a rank that is down and reaped. It may be called with the
// engine's lock held.
func (m *memory) lost(rank int, cause error) {
	m.arena.TakeBack(rank)
	m.mu.Lock()
	m.down[rank] = cause
	m.mu.Unlock()
	m.losses.Add(1)
}

// lossOf returns why a rank is down, or nil.
func (m *memory) lossOf(rank int) error {
	if m.losses.Load() == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.down[rank]
}

// alloc leases n bytes, after freeing parts without users.
func (m *memory) alloc(n int) (arena.Lease, error) {
	m.sweep()
	return m.arena.Alloc(n)
}

// allocPart leases whole pages, zeros, for a part of a Shared.
func (m *memory) allocPart(n int) (arena.Lease, error) {
	m.sweep()
	return m.arena.AllocZeros(n)
}

// keep stores a part that is to be freed when its last user is gone.
func (m *memory) keep(p part) {
	m.mu.Lock()
	m.parts = append(m.parts, p)
	m.freed.Store(uint32(len(m.parts)))
	m.mu.Unlock()
	m.sweep()
}

// sweep frees the parts that no member uses.
func (m *memory) sweep() {
	if m.freed.Load() == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.parts[:0]
	for _, p := range m.parts {
		if !p.unused(m.down) {
			kept = append(kept, p)
			continue
		}
		// The lease is this part's alone, so freeing it cannot fail.
		_ = m.arena.Free(p.lease)
	}
	clear(m.parts[len(kept):])
	m.parts = kept
	m.freed.Store(uint32(len(kept)))
}
