package kernel

// From bypassMin bytes on, Go's builtin copy writes with instructions that bypass the caches of most x86 processors
// (runtime/memmove_amd64.s). Up to cachedMax bytes, the destination usually fits into the caches, so that writing
// through the caches is faster (docs/adr/0067). Copy does so by copying pieces of cachedPiece bytes.
const (
	bypassMin   = 1 << 20
	cachedMax   = 2 << 20
	cachedPiece = 512 << 10
)

// Copy copies like the builtin copy, but does nothing if dst and src begin at the same byte. It returns
// the length of the shorter slice.
func Copy(dst, src []byte) int {
	n := min(len(dst), len(src))
	same, partly := Overlap(dst, src)
	switch {
	case same:
		return n
	case partly || n < bypassMin || n > cachedMax:
		return copy(dst, src)
	}
	for at := 0; at < n; at += cachedPiece {
		copy(dst[at:n], src[at:min(n, at+cachedPiece)])
	}
	return n
}
