// Package row has the inner loops of the NAS kernels MG and FT. Those of MG work on rows of
// stencils, those of FT on eight Fourier transforms beside each other.
//
// On amd64 processors with AVX-512 they are vector loops over eight numbers (wide_amd64.go lists
// them), on others portable Go. Results do not depend on which one runs, to the bit: both do the
// same operations in the same order. A product is rounded before it is added, except where
// the portable loop calls [math.FMA]; a conversion to float64 keeps the compiler from fusing the
// others, as the language says.
package row
