package shm

import (
	"fmt"
	"os"

	"github.com/gorun-hpc/gorun/transport"
)

// arena is this rank's part of node memory.
type arena struct {
	node *Node
	rank int
}

var _ transport.Arena = (*arena)(nil)

// Size implements transport.Arena.
func (a *arena) Size() int { return a.node.arenaSize() }

// Bytes implements transport.Arena. If the ranks of the node are goroutines of one process, the arena
// consists of chunks of 4 MiB. Bytes that cross the border of two chunks are contiguous only if these
// chunks were allocated together. If they were not, Bytes allocates all chunks of the range together.
// Bytes then fails if a chunk that exists already lies only partly in the range.
func (a *arena) Bytes(off, n int) ([]byte, error) {
	if off < 0 {
		return nil, fmt.Errorf("shm: arena bytes at %d: %w", off, errRange)
	}
	b, err := a.node.arenaBytes(a.rank, uint64(off), n, createAll)
	if err != nil {
		return nil, fmt.Errorf("shm: arena: %d bytes at %d of %d: %w", n, off, a.Size(), err)
	}
	return b, nil
}

// Discard implements transport.Arena.
func (a *arena) Discard(off, n int) error {
	page := os.Getpagesize()
	if off < 0 || n < 0 || off > a.Size() || n > a.Size()-off || off%page != 0 || n%page != 0 {
		return fmt.Errorf("shm: discard of %d bytes at %d: %w", n, off, errRange)
	}
	if n == 0 {
		return nil
	}
	if a.node.locals != nil {
		a.node.locals[a.rank].arena.discard(uint64(off), n)
		return nil
	}
	if err := discard(a.node.span(a.rank, offArena+off, n), advise); err != nil {
		return fmt.Errorf("shm: discard of %d bytes at %d: %w", n, off, err)
	}
	return nil
}

// Key implements transport.Arena.
func (a *arena) Key(off int) transport.Key {
	return transport.Key{Addr: uint64(off), Token: tokenArena}
}

// Offset implements transport.Arena.
func (a *arena) Offset(b []byte) (int, bool) {
	if len(b) == 0 {
		return 0, false
	}
	if a.node.locals != nil {
		return a.node.locals[a.rank].arena.offset(b)
	}
	off := addressOf(b) - addressOf(a.node.span(a.rank, offArena, a.Size()))
	if size := uint64(a.Size()); off >= size || uint64(len(b)) > size-off {
		return 0, false
	}
	return int(off), true
}
