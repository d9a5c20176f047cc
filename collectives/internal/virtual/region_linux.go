//go:build !portable

package virtual

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

// region is address space without memory. It provides slices of any length, which must not be
// accessed. Each slice begins where the current mapping begins. If a slice is longer than the current mapping,
// the region adds a longer mapping, which is used from then on.
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
	// Doubling keeps the number of mappings small.
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

// has reports whether b overlaps the region.
func (g *region) has(b []byte) bool {
	for _, m := range g.mappings {
		if same, partial := kernel.Overlap(b, m); same || partial {
			return true
		}
	}
	return false
}

// close unmaps the address space.
func (g *region) close() {
	for _, m := range g.mappings {
		_ = unix.Munmap(m) // cannot fail for a mapping that Mmap has returned
	}
	g.mappings = nil
}
