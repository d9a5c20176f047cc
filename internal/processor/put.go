//go:build (amd64 || arm64) && !race

package processor

// Put64 stores a word. A reader is certain to see the new value only after it has seen a later Store64. Any other
// reader may see the previous value. Put64 is a plain store. In builds with the race detector, it is an atomic
// store, because the race detector would report a reader that loads the word at the same time. On other
// architectures it is an atomic store, too, because Fence does nothing there.
func Put64(p *uint64, v uint64) { *p = v }
