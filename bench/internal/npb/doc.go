// Package npb holds kernels of the NAS Parallel Benchmarks 3.4, written
// in Go over the public runtime: EP (embarrassingly parallel, a control that
// measures arithmetic and what the runtime steals from it), CG (conjugate
// gradient, a chain of some 1600 dependent exchanges of 8 bytes and of tens of
// kilobytes), IS (integer sort: a reduction of a vector and an all-to-all
// with blocks of different lengths), MG (multigrid: exchanges of planes of 8 to 500
// kilobytes), FT (Fourier transforms: one all-to-all of the whole problem for each) and LU
// (symmetric successive over-relaxation of a fluid: a pipeline of short messages).
//
// Problem definitions, class parameters, verification values and the
// operation counts behind Mop/s are those of NPB 3.4 (ep.f90, cg.f90, is.c, mg.f90, ft.f90, lu.f90,
// verify.f90, setparams.c); the code is not a translation. MG, FT and LU
// divide their problem among ranks along one axis, so that they run on fewer ranks than the
// reference codes can use. LU computes products with the blocks of its triangles from the
// state of a cell, without the 5x5 matrices that lu.f90 fills; Mop/s count the operations of
// the reference in any case. A kernel is
// verified only when its numbers agree with the published ones within the
// published tolerance.
//
// Every function that takes a communicator is collective over it.
package npb
