// Package npb holds kernels of the NAS Parallel Benchmarks 3.4. They are written in Go, with some loops in
// assembly for amd64, on the public API of the runtime and of package collectives:
//   - EP (embarrassingly parallel): almost no communication. EP shows how fast the arithmetic is, and
//     how much processor time the runtime uses meanwhile;
//   - CG (conjugate gradient): a chain of dependent exchanges of 8 bytes and of vectors (56 kilobytes on 4 ranks
//     in class A, where the chain has about 1600 exchanges);
//   - IS (integer sort): a reduction of a vector and an all-to-all with blocks of different lengths;
//   - MG (multigrid): exchanges of planes of 3 to 530 kilobytes;
//   - FT (Fourier transforms): one all-to-all of the whole problem for each transform;
//   - LU (an SSOR solver of the Navier-Stokes equations): a pipeline of short messages.
//
// The problem definitions, class parameters, verification values and operation counts for Mop/s are from NPB
// 3.4 (ep.f90, cg.f90, is.c, mg.f90, ft.f90, lu.f90, verify.f90, setparams.c). The code is not a translation.
// MG, FT and LU divide their problem among the ranks along one axis only. Therefore they cannot use as many
// ranks as the reference codes. lu.f90 stores the 5x5 blocks of its triangular matrices, and
// multiplies vectors by them. LU stores no blocks: it computes each product from the state of the cell. In spite
// of these differences, the operation counts are those of the reference codes. A kernel counts as verified only
// if its results agree with the published results within the published tolerance.
//
// Every function that takes a communicator is collective over that communicator.
package npb
