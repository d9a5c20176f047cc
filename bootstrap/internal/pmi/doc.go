// Package pmi is a client of PMI-1, the protocol by which MPICH's mpiexec, Slurm's srun --mpi=pmi2 and Flux
// connect the processes that they start. A process sends lines of text over a stream to the launcher, with
// one request in flight. The launcher has a key-value store. A barrier makes the stored values visible to all
// processes. Package bootstrap puts and gets only one value, because a launcher may need milliseconds for a
// get.
package pmi
