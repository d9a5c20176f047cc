//go:build !amd64

package kernel

// Variants returns the kernels for every type of processor whose instructions this processor has,
// by name.
func Variants() map[string]func(Code, Kind) Func {
	return map[string]func(Code, Kind) Func{"this machine": Of}
}
