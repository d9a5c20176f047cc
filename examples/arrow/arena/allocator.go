package arena

import (
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/gorun-hpc/gorun/runtime"
)

// Allocator is a memory.Allocator whose memory is in the arena of a rank. Any goroutine may use it.
type Allocator struct {
	world *runtime.World

	mu sync.Mutex
	// owned are the Buffers that Arrow has, by the address of their first byte.
	owned map[uintptr]*runtime.Buffer
	// copied counts the bytes that Send had to copy.
	copied int
}

var _ memory.Allocator = (*Allocator)(nil)

// New returns an allocator for the arena of w. It must not be used after w was closed.
func New(w *runtime.World) *Allocator {
	return &Allocator{world: w, owned: make(map[uintptr]*runtime.Buffer)}
}

// Allocate returns size bytes of zeros, aligned to 64. As Arrow has no error for it, it panics if
// the arena has no such memory.
func (a *Allocator) Allocate(size int) []byte {
	if size == 0 {
		return []byte{}
	}
	b, err := runtime.Alloc[byte](a.world, size)
	if err != nil {
		panic(fmt.Errorf("arrow: allocate %d bytes of the arena: %w", size, err))
	}
	clear(b.Bytes()) // it was used before
	return a.own(b)
}

// own gives the memory of a Buffer to Arrow.
func (a *Allocator) own(b *runtime.Buffer) []byte {
	bytes := b.Bytes()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owned[address(bytes)] = b
	return bytes[:len(bytes):len(bytes)]
}

// Reallocate implements memory.Allocator.
func (a *Allocator) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	grown := a.Allocate(size)
	copy(grown, b)
	a.Free(b)
	return grown
}

// Free returns memory to the arena that it is of, which may be another rank's. Memory that was sent
// has gone already.
func (a *Allocator) Free(b []byte) {
	if owned := a.take(b); owned != nil {
		owned.Close()
	}
}

// take takes the Buffer of memory away from Arrow. It returns nil if there is none.
func (a *Allocator) take(b []byte) *runtime.Buffer {
	a.mu.Lock()
	defer a.mu.Unlock()
	owned := a.owned[address(b)]
	delete(a.owned, address(b))
	return owned
}

// Owned returns how many pieces of memory Arrow has.
func (a *Allocator) Owned() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.owned)
}

// Copied returns how many bytes Send has copied, because they were not from this allocator or are
// part of something else that was sent.
func (a *Allocator) Copied() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.copied
}
