// Package row contains the inner loops of the NAS kernels CG, MG, FT and IS. The loop of CG multiplies a sparse
// matrix with a vector, row by row. The loops of MG work on rows of grids. The loops of FT work on eight
// Fourier transforms side by side. The loops of IS count keys by bucket, and order keys by bucket.
//
// On amd64 processors with AVX-512, the loops of MG and FT are vector loops over eight numbers, and the loop of IS that
// orders keys prefetches cache lines before it writes to them (wide_amd64.go lists all loops). With AVX, the loop of CG
// is a vector loop over four numbers. On other processors, all loops are portable Go. Both kinds of loops round in the
// same places, so that their results are bitwise equal. A product is rounded before it is added, except where the
// portable loop calls [math.FMA]. A conversion to float64 rounds: by the specification of the language, it keeps the
// compiler from fusing the multiplication with the addition.
package row
