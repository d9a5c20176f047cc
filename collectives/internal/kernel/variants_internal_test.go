//go:build amd64

package kernel

// Variants returns the kernels of every kind of processor that this one can stand
// for, by name.
func Variants() map[string]func(Code, Kind) Func {
	variants := map[string]func(Code, Kind) Func{"this machine": Of}
	if avx2, _ := features(); avx2 {
		narrow := portable
		accelerateAVX2(&narrow, &portable)
		variants["AVX2"] = func(c Code, k Kind) Func { return narrow[c][k] }
	}
	return variants
}
