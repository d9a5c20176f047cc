//go:build amd64

package kernel

// Variants returns every set of kernels that this processor can run, with a name for each set.
func Variants() map[string]func(Code, Kind) Func {
	variants := map[string]func(Code, Kind) Func{"this machine": Of}
	if avx2, _ := features(); avx2 {
		narrow := portable()
		accelerateAVX2(&narrow, &inGo)
		variants["AVX2"] = func(c Code, k Kind) Func { return narrow[c][k] }
	}
	return variants
}
