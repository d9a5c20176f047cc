package runtime

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/runtime/internal/arena"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/shm"
)

// memory is this rank's arena, with the state that the rank needs to use the arenas of the other
// ranks of its node.
type memory struct {
	arena *arena.Arena
	// node is the transport to the other ranks of the node, through which this rank accesses their memory in place.
	node *shm.Transport
	// base is the transport.Key.Addr of the arena's first byte.
	base uint64
	// heap is true if the arena is part of Go's heap.
	heap bool

	// losses counts the ranks that are down. A goroutine that waits for a word in shared memory polls
	// losses without mu. When losses has changed, the goroutine takes mu to find out which rank was lost.
	losses atomic.Uint32

	// mu guards the fields below. The engine's lock may be held when mu is taken, and the arena's
	// mutex may be taken while mu is held.
	mu sync.Mutex
	// down holds the cause of the loss of each rank that is down, by world rank. detached has the ranks
	// that do not access this rank's memory any more, usually because their processes have ended. A rank
	// that is down may live.
	down     map[int]error
	detached map[int]bool
	// parts are this rank's parts of closed Shareds that other members may still use. freed is
	// len(parts), to be read without mu.
	parts []part
	freed atomic.Uint32
	// waits are the Shareds for which goroutines are in Await. waiting is len(waits), to be read
	// without mu.
	waits   []*Shared
	waiting atomic.Uint32
}

// newMemory returns the memory of a rank. The argument own is the rank's range of memory: node.Arena(),
// or the arena that the network uses in its place.
//
// The argument private reports whether the other ranks are other processes. If private is true,
// this rank has a memory mapping of its own for the range. The argument guarded requests that an
// access to memory faults after this rank has given away or freed the memory. guarded has an effect only if
// private is true. If ranks share a process, memory that faults for one rank faults for all of
// them.
func newMemory(node *shm.Transport, own transport.Arena, rank int, private, guarded bool) *memory {
	cfg := arena.Config{Rank: rank, Contiguous: private, Guarded: private && guarded}
	if !private {
		// The memory is part of Go's heap, so the garbage collector, and not the arena, returns it to
		// the system.
		cfg.Keep = math.MaxInt
	}
	return &memory{
		arena: arena.New(own, cfg), node: node,
		base: own.Key(0).Addr, heap: !private, down: make(map[int]error), detached: make(map[int]bool),
	}
}

// released records that a rank, the holder, has returned the memory at addr. The argument addr is
// an address as in a transport.Key. If holder does not hold the memory at addr, released changes
// nothing. released may be called with the engine's lock held.
func (m *memory) released(holder int, addr uint64) { _ = m.arena.Return(addr-m.base, holder) }

// lost records that a rank is down. lost may be called with the engine's lock held.
func (m *memory) lost(rank int, cause error) {
	m.mu.Lock()
	m.down[rank] = cause
	m.takeBack(rank)
	m.mu.Unlock()
	m.losses.Add(1)
}

// detach records that a rank does not access this rank's memory any more, usually because its process has
// ended. detach may be called with the engine's lock held.
func (m *memory) detach(rank int) {
	m.mu.Lock()
	m.detached[rank] = true
	m.takeBack(rank)
	m.mu.Unlock()
}

// takeBack takes back the leases that a rank holds if that rank is in detached and is down. As long as that
// rank is not down, this rank may still send to it. mu is held.
func (m *memory) takeBack(rank int) {
	if m.detached[rank] && m.down[rank] != nil {
		m.arena.TakeBack(rank)
	}
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

// alloc leases n bytes. It first frees the parts of closed Shareds that no member uses any more.
func (m *memory) alloc(n int) (arena.Lease, error) {
	m.sweep()
	if err := longFits(n); err != nil {
		return arena.Lease{}, err
	}
	return m.arena.Alloc(n)
}

// allocPart leases whole pages of zeros for a part of a Shared. The part may be longer than the memory of the machine,
// because most of its pages may never be written. Go's heap has no room for such a part, and Go would end the process.
func (m *memory) allocPart(n int) (arena.Lease, error) {
	m.sweep()
	if m.heap {
		if err := longFits(n); err != nil {
			return arena.Lease{}, err
		}
	}
	return m.arena.AllocZeros(n)
}

// keep stores a part of a closed Shared, to be freed when no member uses the part any more.
func (m *memory) keep(p part) {
	m.mu.Lock()
	m.parts = append(m.parts, p)
	m.freed.Store(uint32(len(m.parts)))
	m.mu.Unlock()
	m.sweep()
}

// sweep frees the parts in m.parts that no member uses.
func (m *memory) sweep() {
	if m.freed.Load() == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.parts[:0]
	for _, p := range m.parts {
		if !p.unused(m.detached) {
			kept = append(kept, p)
			continue
		}
		// Only this part has the lease, so Free cannot fail.
		_ = m.arena.Free(p.lease)
	}
	clear(m.parts[len(kept):])
	m.parts = kept
	m.freed.Store(uint32(len(kept)))
}
