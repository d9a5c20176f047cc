// Command peers compares gorun with Open MPI and MPICH on this machine, and its
// actors with those of protoactor and its remote:
//
//	go -C bench/peers run .                     # everything, some twenty minutes
//	go -C bench/peers run . -only ^actors       # actors, a minute
//	go -C bench/peers run . -only 'latency 8 B' # some rows
//	go -C bench/peers run . -rounds 1 -quick    # does it work at all
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
// It prints a table of ratios, ours over the better peer, with a bar that must
// be reached and an aim, and writes the table, all samples as JSON and plots as
// SVG to bench/results. A peer that is not installed, fails or hangs is said to
// be so and does not count.
package main
