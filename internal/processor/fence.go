//go:build !arm64 || race

package processor

// Fence orders stores: a reader that sees a store that follows Fence also sees the stores before Fence. An amd64
// processor makes its stores visible in the order of the program (Intel SDM, volume 3A, section 9.2.2). Therefore Fence
// does nothing there. On other architectures, and in builds with the race detector, the stores of this package are
// those of sync/atomic, which keep the order, too.
func Fence() {}
