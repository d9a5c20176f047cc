//go:build !race

package processor

// Put64 stores a word. A reader is certain to see this word only after it has seen a later Store64. Any other
// reader must be able to handle the earlier word. Put64 is a plain store. In builds with the race detector, it
// is an atomic store, because the race detector does not see the order that Store64 makes.
func Put64(p *uint64, v uint64) { *p = v }
