// Package pmi is a client of PMI-1, the protocol by which MPICH's mpiexec, Slurm's srun
// --mpi=pmi2 and Flux connect the processes that they start: lines of text over a stream that
// the launcher has made, one request in flight, and a store of keys that a barrier makes
// visible. The client puts and gets one value, and never more: a get costs a launcher up to
// milliseconds.
package pmi
