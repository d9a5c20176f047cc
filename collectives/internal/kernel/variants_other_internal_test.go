//go:build !amd64

package kernel

// Variants returns every set of kernels that this processor can run, with a name for each set.
func Variants() map[string]func(Code, Kind) Func {
	return map[string]func(Code, Kind) Func{"this machine": Of}
}
