//go:build !amd64

package kernel

// Variants returns the kernels of every processor type whose instructions this processor
// has, by name.
func Variants() map[string]func(Code, Kind) Func {
	return map[string]func(Code, Kind) Func{"this machine": Of}
}
