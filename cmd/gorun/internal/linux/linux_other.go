//go:build !linux

package linux

// The compiler's error contains the undefined name, which states the reason.
var _ = gorun_starts_ranks_on_Linux_and_elsewhere_runtime_Local_does
