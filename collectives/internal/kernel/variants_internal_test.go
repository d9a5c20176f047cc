//go:build amd64

package kernel

// Variants returns the kernels for every type of processor whose instructions this processor has,
// by name.
func Variants() map[string]func(Code, Kind) Func {
	variants := map[string]func(Code, Kind) Func{"this machine": Of}
	if avx2, _ := features(); avx2 {
		narrow := portable
		accelerateAVX2(&narrow, &portable)
		variants["AVX2"] = func(c Code, k Kind) Func { return narrow[c][k] }
	}
	return variants
}
