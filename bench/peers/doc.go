// Command peers compares gorun with Open MPI and MPICH on this machine. It also compares gorun's actors with
// protoactor and with protoactor's package remote:
//
//	go -C bench/peers run .                     # all parts that take minutes, some twenty minutes
//	go -C bench/peers run . -part actors        # actors, a minute
//	go -C bench/peers run . -part osu           # as the OSU benchmarks measure, a quarter of an hour
//	go -C bench/peers run . -part curves        # latency and bandwidth over size, four minutes
//	go -C bench/peers run . -only 'latency 8 B' # some rows
//	go -C bench/peers run . -rounds 1 -quick    # a short test of the comparison
//	go -C bench/peers run . -part npb -npb DIR  # NAS kernels beside the reference codes
//	go -C bench/peers run . -draw               # the pictures again, of stored samples
//
// Command peers is a module of its own, so that the go.sum of programs that use gorun does not contain the
// module with which peers draws.
//
// Each of gorun's benchmarks has a twin: a C program over MPI with the same loops and the same numbers of
// iterations (bench/peers/twins). The systems run one after the other, in several rounds, on the same cores,
// in their default configuration. The medians of the rounds are compared. With -ucx, the UCX variants of both
// MPI libraries also run, and the tables show them beside the other systems.
//
// bench/actors is compared with bench/peers/protoactor and with bench/peers/netrpc. Both print lines of the
// same format as bench/actors. bench/peers/protoactor is also a module of its own.
//
// bench/npb is compared with the reference codes of the NAS Parallel Benchmarks, which are not part of this
// tree. -npb names a directory with a built copy of NPB3.4-MPI for each peer, in the subdirectories openmpi
// and mpich.
//
// The parts are peers (two ranks, each on a core of its own, and whole jobs), osu (measured as OSU's benchmarks do),
// collectives (every collective operation) and crowd (more ranks than cores). The other parts are rdma
// (through the network), hosts (every collective operation of ranks on four emulated hosts, which needs
// root), actors, npb, and curves (latency and bandwidth from 1 B to 4 MiB). For each part the program prints
// a table of ratios, or of medians and extremes. A ratio is gorun's value divided by the value that the column
// "against" names, in most rows that of the better peer. If a row has a bar, gorun must reach it. If it has an
// aim, gorun should reach the aim. In a row against "absolute", the ratio is gorun's value itself.
//
// On a virtual machine the host may move the processors, so that all messages take twice as long for some
// seconds. With -near 150ns, peers starts a run only when a cache line takes at most 150 ns from the first
// processor to the second and back, and repeats the run if the cache line takes longer afterwards.
//
// The program writes the table, all samples as JSON, and pictures as PNG to bench/results. A partial
// run (-only, -quick) writes nothing unless -out names a directory or -resume is given. If a peer is not installed,
// fails or hangs, the program reports this, and compares gorun with the other peers.
package main
