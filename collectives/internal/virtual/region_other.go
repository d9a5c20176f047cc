//go:build !linux || portable

package virtual

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
)

// regionMax is the largest length of a region, in bytes. On operating systems other than Linux,
// and with the build tag portable, a region needs real memory.
const regionMax = 1 << 30

// region is memory whose contents do not matter. In region_linux.go, a region is address space without memory.
type region struct{ memory []byte }

// bytes returns a slice of n bytes.
func (g *region) bytes(n int) ([]byte, error) {
	if n < 0 || n > regionMax {
		return nil, fmt.Errorf("buffers of %d bytes: on this system at most %d are simulated", n, regionMax)
	}
	if n > len(g.memory) {
		g.memory = make([]byte, n)
	}
	return g.memory[:n:n], nil
}

// has reports whether b overlaps the memory of the region.
func (g *region) has(b []byte) bool {
	same, partial := kernel.Overlap(b, g.memory)
	return same || partial
}

func (*region) close() {}
