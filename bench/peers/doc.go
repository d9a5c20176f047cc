// Command peers compares gorun with Open MPI and MPICH on this machine, and its
// actors with those of protoactor and its remote:
//
//	go -C bench/peers run .                     # everything, some twenty minutes
//	go -C bench/peers run . -part actors        # actors, a minute
//	go -C bench/peers run . -part curves        # latency and bandwidth over size, four minutes
//	go -C bench/peers run . -only 'latency 8 B' # some rows
//	go -C bench/peers run . -rounds 1 -quick    # does it work at all
//	go -C bench/peers run . -part npb -npb DIR  # NAS kernels beside the reference codes
//	go -C bench/peers run . -draw               # the pictures again, of stored samples
//
// It is a module of its own, so that what it draws with stays out of the go.sum of
// programs that use gorun.
//
// For each of our benchmarks there is a twin, a C program over MPI with the same
// loops and the same counts of iterations (bench/peers/twins). The systems run
// one after the other, in several rounds, on the same cores, in their default
// configuration; medians of the rounds are compared. With -ucx the variants of
// both that use UCX run too and are shown beside them.
//
// Beside bench/actors run bench/peers/protoactor, another module of its own, and
// bench/peers/netrpc, which print the same kind of lines.
//
// Beside bench/npb the peers run the reference codes of the NAS Parallel Benchmarks, which are not part
// of this tree: -npb names a directory with a built copy of NPB3.4-MPI for each peer, openmpi and mpich.
//
// Its parts are peers (two ranks on a core each, and whole jobs), crowd (more ranks than
// cores), rdma (through the network), actors, npb, and curves (latency and bandwidth from 1 B
// to 4 MiB). Of each it prints a table of ratios, ours over the better peer, with a bar
// that must be reached and an aim, or of medians and extremes, and writes the table, all
// samples as JSON and pictures as PNG to bench/results. A partial run (-only, -quick)
// writes nothing unless -out names a directory. A peer that is not installed, fails or
// hangs is reported as such and does not count.
package main
