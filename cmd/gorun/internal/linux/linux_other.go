//go:build !linux

package linux

// The compiler says so by the name that it does not find.
var _ = gorun_starts_ranks_on_Linux_and_elsewhere_runtime_Local_does
