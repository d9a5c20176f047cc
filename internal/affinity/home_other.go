//go:build !linux

package affinity

// enter does nothing, because gorun moves threads to processors only on Linux.
func (*Home) enter() {}
