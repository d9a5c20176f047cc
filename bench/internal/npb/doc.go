// Package npb holds two kernels of the NAS Parallel Benchmarks 3.4, written
// in Go over the public runtime: EP (embarrassingly parallel, a control that
// measures arithmetic and what the runtime steals from it) and CG (conjugate
// gradient, a chain of some 1600 dependent exchanges of 8 bytes and of tens of
// kilobytes).
//
// Problem definitions, class parameters, verification values and the
// operation counts behind Mop/s are those of NPB 3.4 (ep.f90, cg.f90,
// verify.f90, setparams.c); the code is not a translation. A kernel is
// verified only when its numbers agree with the published ones within the
// published tolerance.
//
// Every function that takes a communicator is collective over it.
package npb
