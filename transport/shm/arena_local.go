package shm

import (
	"errors"
	"sync"
)

const (
	// localArenaBytes is the size of an arena on the heap. It bounds the offsets. Memory is
	// allocated only for chunks that are requested.
	localArenaBytes = 1 << 36
	localChunkBytes = 4 << 20
)

var errSplit = errors.New("bytes cross chunks that were made separately")

// localArena is an arena on the heap. Its chunks are allocated when bytes in them are
// requested.
type localArena struct {
	// mu guards chunks. The owner and its peers look chunks up and add chunks. The owner may
	// replace chunks, see createAll.
	mu sync.RWMutex
	// chunks maps the number of a chunk to its memory.
	chunks map[uint64]localChunk
}

// localChunk is one chunk of localChunkBytes. It is part of a span. A span is an allocation of one
// or more consecutive chunks.
type localChunk struct {
	span  []byte
	first uint64 // the number of the first chunk of the span
}

// creation says what localArena.bytes does if the bytes do not lie in one span.
type creation uint8

const (
	// createNone returns errRange.
	createNone creation = iota
	// createMissing is for peers. It allocates a span if no chunk of the range exists. Otherwise it
	// returns errSplit, because the contents of an existing chunk belong to the owner.
	createMissing
	// createAll is for the owner. It allocates a span that replaces existing chunks that lie wholly
	// in the range, because the caller owns these chunks and their contents. If an existing chunk
	// lies only partly in the range, createAll returns errSplit.
	createAll
)

// bytes returns n bytes at off. If the bytes do not lie in one span, the argument create says what bytes
// does.
func (a *localArena) bytes(off uint64, n int, create creation) ([]byte, error) {
	if n == 0 {
		return []byte{}, nil
	}
	if b := a.find(off, n); b != nil {
		return b, nil
	}
	if create == createNone {
		return nil, errRange
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	first, last := off/localChunkBytes, (off+uint64(n)-1)/localChunkBytes
	for c := first; c <= last; c++ {
		whole := c*localChunkBytes >= off && (c+1)*localChunkBytes <= off+uint64(n)
		if _, made := a.chunks[c]; made && (!whole || create == createMissing) {
			return nil, errSplit
		}
	}
	if a.chunks == nil {
		a.chunks = map[uint64]localChunk{}
	}
	span := heapSegment(int(last-first+1) * localChunkBytes).bytes
	for c := first; c <= last; c++ {
		a.chunks[c] = localChunk{span, first}
	}
	start := off - first*localChunkBytes
	return span[start : start+uint64(n) : start+uint64(n)], nil
}

// find returns n bytes at off if the bytes lie in one span, and nil otherwise.
func (a *localArena) find(off uint64, n int) []byte {
	a.mu.RLock()
	defer a.mu.RUnlock()
	first := off / localChunkBytes
	c, ok := a.chunks[first]
	if !ok {
		return nil
	}
	for i := first + 1; i*localChunkBytes < off+uint64(n); i++ {
		if next, ok := a.chunks[i]; !ok || addressOf(next.span) != addressOf(c.span) {
			return nil
		}
	}
	start := off - c.first*localChunkBytes
	return c.span[start : start+uint64(n) : start+uint64(n)]
}

// discard clears [off, off+n). It does not remove chunks that lie wholly in this range, because the
// owner and its peers may still have slices of these chunks, which must remain the same memory.
func (a *localArena) discard(off uint64, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for at, end := off, off+uint64(n); at < end; {
		c := at / localChunkBytes
		stop := min(end, (c+1)*localChunkBytes)
		if chunk, ok := a.chunks[c]; ok {
			base := chunk.first * localChunkBytes
			clear(chunk.span[at-base : stop-base])
		}
		at = stop
	}
}

// offset returns the offset of b in the arena. It returns false if b is not in the arena.
func (a *localArena) offset(b []byte) (int, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, c := range a.chunks {
		off := addressOf(b) - addressOf(c.span)
		if size := uint64(len(c.span)); off < size && uint64(len(b)) <= size-off {
			return int(c.first*localChunkBytes + off), true
		}
	}
	return 0, false
}
