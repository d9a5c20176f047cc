//go:build !amd64

package kernel

// Variants returns the kernels of every kind of processor that this one can stand
// for, by name.
func Variants() map[string]func(Code, Kind) Func {
	return map[string]func(Code, Kind) Func{"this machine": Of}
}
