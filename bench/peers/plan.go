package main

import (
	"slices"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20

	timeoutRun  = 120 * time.Second
	timeoutHuge = 90 * time.Second // for 256 ranks; a peer that takes longer counts as hung
)

var (
	fewIterations = []string{"-i", "20", "-x", "2"}
	fewWorks      = []string{"-i", "2", "-x", "0", "-for", "1ms"}
	// With OSU's numbers of iterations, a measurement ends within the first milliseconds of a process. At
	// that time, the start of the process and the setup by the first messages still influence the result.
	// With the following numbers, the warm-up takes some tens of milliseconds. The duration of an operation
	// decides which of them is used: a fraction of a microsecond, some microseconds, or more.
	warm     = []string{"-i", "50000", "-x", "50000"}
	warmFew  = []string{"-i", "10000", "-x", "5000"}
	warmLong = []string{"-i", "500", "-x", "200"}
	// For windows of 64 messages.
	warmWindows = []string{"-i", "50", "-x", "25"}
)

// plan is a comparison: the measurements, the systems, and the table and the pictures of the
// results.
type plan struct {
	name         string // name of the files of results
	title        string // title of the picture of ratios; if it is "", there is no such picture
	measurements []measurement
	rows         []row
	curves       []curve
	// summary is true if the report has a summary of the rows below the table.
	summary bool
	// load is true if the table shows the load average beside the figures.
	load bool
	// references is true if the peers run reference codes, which are in the directory of -npb.
	references bool
	// hosts is the number of emulated hosts on which the ranks run, 0 for this machine.
	hosts int
	// long is true if the measurements take so long that only -part selects them: five rounds of the other
	// plans together take twenty minutes.
	long bool
	// peers returns the systems, gorun first. dir is the directory of the built programs.
	peers func(dir string, ucx bool) []system
}

// plans returns all comparisons.
func plans() []plan {
	return []plan{messagePlan(), osuPlan(), collectivePlan(), crowdPlan(), networkPlan(), hostPlan(), actorPlan(), curvePlan(), npbPlan()}
}

// messagePlan compares messages and collectives of two ranks, and whole jobs, with Open
// MPI and MPICH.
func messagePlan() plan {
	return plan{
		name: "peers", title: "gorun beside Open MPI and MPICH: two ranks on a core each, one machine",
		measurements: bounded(slices.Concat(pairMeasurements(), jobMeasurements())),
		rows:         slices.Concat(pairRows(), jobRows()), peers: systems,
	}
}

// bounded sets the timeout of each measurement that has none. It also sets the arguments for -quick of each
// measurement that has none, except where the value is the time of the whole run (the field wall).
func bounded(measurements []measurement) []measurement {
	for i := range measurements {
		m := &measurements[i]
		if m.timeout == 0 {
			m.timeout = timeoutRun
		}
		if m.quick == nil && !m.wall {
			m.quick = fewIterations
		}
	}
	return measurements
}

// pairMeasurements returns the measurements of two ranks on two cores.
func pairMeasurements() []measurement {
	return []measurement{
		{key: "latency", program: "latency", ranks: 2, bound: true, args: append([]string{"-m", "8,1K,8K"}, warm...)},
		{key: "bandwidth", program: "bandwidth", ranks: 2, bound: true, args: append([]string{"-m", "64K,1M,4M"}, warmWindows...)},
		{key: "bandwidth arena", program: "bandwidth", ranks: 2, bound: true, alone: true, args: append([]string{"-m", "1M"}, warmWindows...), ours: []string{"-arena"}},
		{key: "bibandwidth", program: "bibandwidth", ranks: 2, bound: true, args: append([]string{"-m", "64K,1M"}, warmWindows...)},
		{key: "message rate", program: "messagerate", ranks: 2, bound: true, args: []string{"-m", "8", "-i", "5000", "-x", "5000"}},
		{key: "handover", program: "handover", ranks: 2, bound: true, alone: true, args: append([]string{"-m", "64M"}, warmFew...)},
		{key: "allreduce", program: "collective", ranks: 2, bound: true, args: append(allreduce("8"), warm...)},
		{key: "allreduce long", program: "collective", ranks: 2, bound: true, args: append(allreduce("64K,1M"), warmLong...)},
		{key: "allreduce huge", program: "collective", ranks: 2, bound: true, args: allreduce("16M")},
		{key: "barrier", program: "collective", ranks: 2, bound: true, args: append([]string{"-op", "barrier"}, warm...)},
		{key: "bcast", program: "collective", ranks: 2, bound: true, args: append([]string{"-op", "bcast", "-m", "1M"}, warmLong...)},
		{key: "alltoall", program: "collective", ranks: 2, bound: true, args: append([]string{"-op", "alltoall", "-m", "64K"}, warmFew...)},
	}
}

// allreduce returns the arguments for an allreduce that adds float32 values, for some sizes.
func allreduce(sizes string) []string {
	return []string{"-op", "allreduce", "-type", "float32", "-m", sizes}
}

// jobMeasurements returns the measurements of whole jobs: start, waiting, stalls, loss of a rank,
// allocations and memory.
func jobMeasurements() []measurement {
	return []measurement{
		{key: "startup", program: "startup", ranks: 64, wall: true},
		{key: "blocked", program: "blocked", ranks: 2, bound: true, args: []string{"-for", "10s"}, quick: []string{"-for", "200ms"}, peers: 1},
		{key: "computing", program: "computing", ranks: 2, bound: true, args: []string{"-m", "64M", "-for", "200ms"}, quick: []string{"-m", "1M", "-for", "20ms"}, peers: 1},
		{key: "stall barrier", program: "stall", ranks: 2, bound: true, args: []string{"-op", "barrier", "-for", "20ms"}, quick: fewWorks},
		{key: "stall allreduce", program: "stall", ranks: 2, bound: true, args: []string{"-op", "allreduce", "-m", "8", "-for", "20ms"}, quick: fewWorks},
		{key: "stall exchange", program: "stall", ranks: 2, bound: true, args: []string{"-op", "exchange", "-m", "4M", "-for", "20ms"}, quick: fewWorks},
		{key: "stall unbound", program: "stall", ranks: 2, launch: []string{"-bind-to", "none"}, args: []string{"-op", "barrier", "-for", "20ms"}, quick: fewWorks},
		{key: "loss", program: "loss", ranks: 4, alone: true, launch: []string{"-on-failure", "continue"}, quick: []string{}},
		{key: "allocations", program: "allocations", ranks: 2, bound: true, alone: true, args: []string{"-m", "8"}},
		{key: "memory", program: "memory", ranks: 64, quick: []string{}},
	}
}

// pairRows returns the rows of two ranks on two cores.
func pairRows() []row {
	return []row{
		{name: "latency 8 B", unit: "us", measurement: "latency", size: 8, against: better, bar: 1, aim: 0.7},
		{name: "latency 1 KiB", unit: "us", measurement: "latency", size: kib, against: better, bar: 1, aim: 0.7},
		{name: "latency 8 KiB", unit: "us", measurement: "latency", size: 8 * kib, against: better, bar: 1, aim: 0.7},
		{name: "bandwidth 64 KiB", unit: "MB/s", measurement: "bandwidth", size: 64 * kib, against: better, higher: true, bar: 1, aim: 1.1},
		{name: "bandwidth 1 MiB", unit: "MB/s", measurement: "bandwidth", size: mib, against: better, higher: true, bar: 1, aim: 1.1},
		{name: "bandwidth 4 MiB", unit: "MB/s", measurement: "bandwidth", size: 4 * mib, against: better, higher: true, bar: 1, aim: 1.35},
		{name: "bandwidth 1 MiB from the arena", unit: "MB/s", measurement: "bandwidth arena", theirs: "bandwidth", size: mib, against: better, higher: true, bar: 1, aim: 1.5},
		{name: "bidirectional bandwidth 64 KiB", unit: "MB/s", measurement: "bibandwidth", size: 64 * kib, against: better, higher: true, free: true},
		{name: "bidirectional bandwidth 1 MiB", unit: "MB/s", measurement: "bibandwidth", size: mib, against: better, higher: true, free: true},
		{name: "message rate 8 B", unit: "1/s", measurement: "message rate", size: 8, against: better, higher: true, bar: 1, aim: 2},
		{name: "handover of 64 MiB", unit: "us", measurement: "handover", size: 64 * mib, against: absolute, bar: 1},
		{name: "handover of 64 MiB, to latency 8 B", unit: "us", measurement: "handover", size: 64 * mib, against: "latency", free: true, aim: 1},
		{name: "allreduce 8 B", unit: "us", measurement: "allreduce", size: 8, against: better, bar: 1, aim: 0.6},
		{name: "allreduce 64 KiB", unit: "us", measurement: "allreduce long", size: 64 * kib, against: better, bar: 1, aim: 0.6},
		{name: "allreduce 1 MiB", unit: "us", measurement: "allreduce long", size: mib, against: better, bar: 1, aim: 0.6},
		{name: "allreduce 16 MiB", unit: "us", measurement: "allreduce huge", size: 16 * mib, against: better, bar: 1, aim: 0.6},
		{name: "barrier", unit: "us", measurement: "barrier", against: better, bar: 1, aim: 0.6},
		{name: "bcast 1 MiB", unit: "us", measurement: "bcast", size: mib, against: better, bar: 1, aim: 0.6},
		{name: "alltoall 64 KiB", unit: "us", measurement: "alltoall", size: 64 * kib, against: better, bar: 1, aim: 0.6},
	}
}

// jobRows returns the rows of whole jobs.
func jobRows() []row {
	return []row{
		{name: "start to end of 64 ranks", unit: "s", measurement: "startup", size: wallSize, against: better, bar: 0.2, aim: 0.1},
		{name: "CPU of a rank blocked in Recv", unit: "%", measurement: "blocked", size: 8, against: absolute, bar: 0.1},
		{name: "64 MiB send to a rank that computes 200 ms", unit: "ms", measurement: "computing", size: 64 * mib, against: absolute, bar: 50},
		{name: "20 ms of work after a barrier, to its time alone", unit: "", measurement: "stall barrier", size: 8, against: openMPI, bar: 1.02},
		{name: "20 ms of work after an allreduce of 8 B", unit: "", measurement: "stall allreduce", size: 8, against: openMPI, bar: 1.02},
		{name: "20 ms of work after an exchange of 4 MiB", unit: "", measurement: "stall exchange", size: 4 * mib, against: openMPI, bar: 1.02},
		{name: "20 ms of work after a barrier, ranks not bound", unit: "", measurement: "stall unbound", size: 8, against: openMPI, bar: 1.02},
		{name: "loss of a rank, kill to the last survivor's error", unit: "ms", measurement: "loss", size: 0, against: absolute, bar: 1000},
		{name: "allocations per small message", unit: "", measurement: "allocations", size: 8, against: absolute, bar: 0.005},
		{name: "memory (PSS) of an idle rank of 64", unit: "KiB", measurement: "memory", size: 0, against: openMPI, bar: 2, aim: 1},
	}
}
