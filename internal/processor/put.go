//go:build !race

package processor

// Put64 stores a word that other processors read only after they have seen a later Store64. Put64 is a plain
// store. In builds with the race detector, it is an atomic store, because the race detector does not see the
// order that Store64 makes.
func Put64(p *uint64, v uint64) { *p = v }
