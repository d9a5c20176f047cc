//go:build !portable

package virtual

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

// region is address space without memory: slices of any length that nobody may touch. All of
// them begin at the same place, until one is longer than all before.
type region struct{ mappings [][]byte }

// bytes returns a slice of n bytes.
func (g *region) bytes(n int) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("%d bytes do not exist", n)
	}
	if n == 0 {
		return nil, nil
	}
	if last := len(g.mappings) - 1; last >= 0 && n <= len(g.mappings[last]) {
		return g.mappings[last][:n:n], nil
	}
	// Twice as much as before bounds the number of mappings.
	length := n
	if last := len(g.mappings) - 1; last >= 0 {
		length = max(n, 2*len(g.mappings[last]))
	}
	m, err := unix.Mmap(-1, 0, length, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes of address space: %w", length, err)
	}
	g.mappings = append(g.mappings, m)
	return m[:n:n], nil
}

// has reports whether b is of the region.
func (g *region) has(b []byte) bool {
	for _, m := range g.mappings {
		if same, partial := kernel.Overlap(b, m); same || partial {
			return true
		}
	}
	return false
}

// close gives the address space back.
func (g *region) close() {
	for _, m := range g.mappings {
		_ = unix.Munmap(m) // of what Mmap returned, it cannot fail
	}
	g.mappings = nil
}
