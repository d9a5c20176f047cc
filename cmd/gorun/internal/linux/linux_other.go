//go:build !linux

package linux

// The name is undefined. The compiler's error contains the name, and the name states the reason.
var _ = gorun_starts_ranks_on_Linux_and_elsewhere_runtime_Local_does
