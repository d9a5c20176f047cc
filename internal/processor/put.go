//go:build !race

package processor

// Put64 stores a word that other processors read only after they have seen a later Store64. It
// is a plain store. In builds with the race detector, which does not see this order, it is atomic.
func Put64(p *uint64, v uint64) { *p = v }
