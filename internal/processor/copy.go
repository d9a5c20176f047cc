package processor

// cachedPiece is less than the length from which Go's builtin copy bypasses the caches.
const cachedPiece = 512 << 10

// CopyCached copies like the builtin copy, but always through the caches of the processor. From 1 MiB on, the
// builtin copy writes with instructions that bypass the caches of most x86 processors (runtime/memmove_amd64.s).
// If source and destination fit into the caches, and are used again soon, CopyCached is faster
// (docs/adr/0067). dst and src must not overlap.
func CopyCached(dst, src []byte) int {
	n := min(len(dst), len(src))
	for at := 0; at < n; at += cachedPiece {
		copy(dst[at:n], src[at:min(n, at+cachedPiece)])
	}
	return n
}
