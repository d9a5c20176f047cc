package arena

import (
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/gorun-hpc/gorun/runtime"
)

// Allocator is a memory.Allocator that allocates memory in the arena of a rank. Any goroutine may
// use it.
type Allocator struct {
	world *runtime.World

	mu sync.Mutex
	// owned holds the Buffers whose memory Arrow uses, by the address of their first byte.
	owned map[uintptr]*runtime.Buffer
	// copied is the number of bytes that Send had to copy, without the copies of runtime.SendBuffer.
	copied int
}

var _ memory.Allocator = (*Allocator)(nil)

// New returns an allocator for the arena of w. The allocator must not be used after w was closed.
func New(w *runtime.World) *Allocator {
	return &Allocator{world: w, owned: make(map[uintptr]*runtime.Buffer)}
}

// Allocate returns size bytes of zeros, aligned to 64 bytes. It panics if the arena has not enough
// free memory, because Arrow's interface has no error result.
func (a *Allocator) Allocate(size int) []byte {
	if size == 0 {
		return []byte{}
	}
	b, err := runtime.Alloc[byte](a.world, size)
	if err != nil {
		panic(fmt.Errorf("arrow: allocate %d bytes of the arena: %w", size, err))
	}
	clear(b.Bytes()) // the arena does not clear memory that it allocates again
	return a.own(b)
}

// own records b as used by Arrow, and returns its memory.
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

// Free returns memory to the arena from which it was allocated, which may be the arena of another rank. If
// Send has handed the memory over, Free does nothing, because the receiver owns the memory.
func (a *Allocator) Free(b []byte) {
	if owned := a.take(b); owned != nil {
		owned.Close()
	}
}

// take returns the Buffer whose memory is b, and removes the Buffer from owned. If owned does not contain
// such a Buffer, take returns nil.
func (a *Allocator) take(b []byte) *runtime.Buffer {
	a.mu.Lock()
	defer a.mu.Unlock()
	owned := a.owned[address(b)]
	delete(a.owned, address(b))
	return owned
}

// Owned returns the number of Buffers that Arrow uses.
func (a *Allocator) Owned() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.owned)
}

// Copied returns how many bytes Send has copied. Send copies memory that is not from this allocator,
// and memory that shares a Buffer with other memory that is sent. Copied does not count the bytes that
// runtime.SendBuffer copies because their memory belongs to another rank.
func (a *Allocator) Copied() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.copied
}
