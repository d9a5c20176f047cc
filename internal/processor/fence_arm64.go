//go:build !race

package processor

// Fence orders stores: a reader that sees a store that follows Fence also sees the stores before Fence. On arm64 it is
// a barrier for stores of the inner shareable domain (DMB ISHST).
func Fence()
