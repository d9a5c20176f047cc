package kernel

import "github.com/gorun-hpc/gorun/internal/processor"

// cachedMax is the largest number of bytes that Copy copies through the caches. If blocks are no longer than this, the
// buffers of all ranks usually fit into the caches (docs/adr/0067).
const cachedMax = 2 << 20

// Copy copies like the builtin copy, but does nothing if dst and src begin at the same byte. It returns
// the length of the shorter slice.
func Copy(dst, src []byte) int {
	n := min(len(dst), len(src))
	same, partly := Overlap(dst, src)
	switch {
	case same:
		return n
	case partly || n > cachedMax:
		return copy(dst, src)
	}
	return processor.CopyCached(dst, src)
}
