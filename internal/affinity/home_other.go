//go:build !linux

package affinity

// enter does nothing, because other systems do not bind threads to processors.
func (*Home) enter() {}
