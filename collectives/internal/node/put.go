//go:build !race

package node

// put stores a word that others read only after they have seen a later one. For
// the race detector, which cannot know, it is atomic.
func put(p *uint64, v uint64) { *p = v }
