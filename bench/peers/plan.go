package main

import (
	"fmt"
	"slices"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20

	timeoutRun  = 120 * time.Second
	timeoutHuge = 90 * time.Second // 256 ranks: a peer that has not ended by then hangs
)

var (
	fewIterations = []string{"-i", "20", "-x", "2"}
	fewWorks      = []string{"-i", "2", "-x", "0", "-for", "1ms"}
	// The counts of OSU are over in the first milliseconds of a process, when what
	// has started it and what the first messages set up still take their share. These
	// last some tens of milliseconds before they are timed, by what an operation
	// takes: a fraction of a microsecond, some microseconds, or more.
	warm     = []string{"-i", "50000", "-x", "50000"}
	warmFew  = []string{"-i", "10000", "-x", "5000"}
	warmLong = []string{"-i", "500", "-x", "200"}
	// Windows of 64 messages.
	warmWindows = []string{"-i", "50", "-x", "25"}
)

// crowds are the numbers of ranks with which two cores are shared.
var crowds = []int{4, 8, 16}

// plan is a comparison: what is measured, with which systems, and the table that
// is made of it.
type plan struct {
	name         string // of the files of results
	ratioPlot    string // the file of the plot of ratios
	measurements []measurement
	rows         []row
	// peers returns the systems, ours first; the programs are built in dir.
	peers func(dir string, ucx bool) []system
}

// plans returns all comparisons.
func plans() []plan { return []plan{messagePlan(), actorPlan()} }

// messagePlan compares messages and collectives with Open MPI and MPICH.
func messagePlan() plan {
	measurements := slices.Concat(pairMeasurements(), jobMeasurements(), networkMeasurements())
	rows := slices.Concat(pairRows(), jobRows(), networkRows())
	for _, ranks := range crowds {
		measurements = append(measurements, crowdMeasurements(ranks)...)
		rows = append(rows, crowdRows(ranks)...)
	}
	for i := range measurements {
		m := &measurements[i]
		if m.timeout == 0 {
			m.timeout = timeoutRun
		}
		if m.quick == nil && !m.wall {
			m.quick = fewIterations
		}
	}
	return plan{name: "peers", ratioPlot: "ratios.svg", measurements: measurements, rows: rows, peers: systems}
}

// pairMeasurements are those of two ranks on two cores.
func pairMeasurements() []measurement {
	return []measurement{
		{key: "latency", program: "latency", ranks: 2, bound: true, args: append([]string{"-m", "8,1K,8K"}, warm...)},
		{key: "heard 63", program: "latency", ranks: 65, alone: true, args: append([]string{"-m", "8", "-heard", "63"}, warm...), quick: []string{"-i", "20", "-x", "2", "-heard", "6"}},
		{key: "heard 1", program: "latency", ranks: 65, alone: true, args: append([]string{"-m", "8", "-heard", "1"}, warm...)},
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
		{key: "latency curve", program: "latency", ranks: 2, bound: true, args: []string{"-m", "1:4M"}, times: 3},
		{key: "bandwidth curve", program: "bandwidth", ranks: 2, bound: true, args: []string{"-m", "64:16M"}, times: 3},
	}
}

// allreduce returns the arguments of the sum of float32s of some sizes.
func allreduce(sizes string) []string {
	return []string{"-op", "allreduce", "-type", "float32", "-m", sizes}
}

// jobMeasurements are those of whole jobs: starting, waiting, memory.
func jobMeasurements() []measurement {
	return []measurement{
		{key: "startup", program: "startup", ranks: 64, wall: true},
		{key: "all-to-all 256", program: "allall", ranks: 256, wall: true, timeout: timeoutHuge},
		{key: "blocked", program: "blocked", ranks: 2, bound: true, args: []string{"-for", "10s"}, quick: []string{"-for", "200ms"}, peers: 1},
		{key: "computing", program: "computing", ranks: 2, bound: true, args: []string{"-m", "64M", "-for", "200ms"}, quick: []string{"-m", "1M", "-for", "20ms"}, peers: 1},
		{key: "stall barrier", program: "stall", ranks: 2, bound: true, args: []string{"-op", "barrier", "-for", "20ms"}, quick: fewWorks},
		{key: "stall allreduce", program: "stall", ranks: 2, bound: true, args: []string{"-op", "allreduce", "-m", "8", "-for", "20ms"}, quick: fewWorks},
		{key: "stall exchange", program: "stall", ranks: 2, bound: true, args: []string{"-op", "exchange", "-m", "4M", "-for", "20ms"}, quick: fewWorks},
		{key: "stall unbound", program: "stall", ranks: 2, args: []string{"-op", "barrier", "-for", "20ms"}, quick: fewWorks},
		{key: "loss", program: "loss", ranks: 4, alone: true, fails: true, launch: []string{"-on-failure", "continue"}},
		{key: "allocations", program: "allocations", ranks: 2, bound: true, alone: true, args: []string{"-m", "8"}},
		{key: "memory", program: "memory", ranks: 64},
		{key: "memory 256", program: "memory", ranks: 256, alone: true, args: []string{"-alltoall"}},
		{key: "shared 256", program: "memory", ranks: 256, alone: true, args: []string{"-alltoall", "-shared"}},
	}
}

// crowdMeasurements are those of ranks that share the cores.
func crowdMeasurements(ranks int) []measurement {
	key := func(what string) string { return fmt.Sprintf("%s %d", what, ranks) }
	return []measurement{
		{key: key("pairs"), program: "latency", ranks: ranks, args: append([]string{"-pairs", "-m", "8"}, warmFew...), spinning: fewIterations},
		{key: key("allreduce"), program: "collective", ranks: ranks, args: append(allreduce("8"), warmFew...), spinning: fewIterations},
		{key: key("allreduce long"), program: "collective", ranks: ranks, args: append(allreduce("1M"), warmLong...), spinning: fewIterations},
		{key: key("barrier"), program: "collective", ranks: ranks, args: append([]string{"-op", "barrier"}, warmFew...), spinning: fewIterations},
	}
}

// pairRows are the lines of two ranks on two cores.
func pairRows() []row {
	return []row{
		{name: "latency 8 B", unit: "us", measurement: "latency", size: 8, against: better, bar: 1, aim: 0.7},
		{name: "latency 1 KiB", unit: "us", measurement: "latency", size: kib, against: better, bar: 1, aim: 0.7},
		{name: "latency 8 KiB", unit: "us", measurement: "latency", size: 8 * kib, against: better, bar: 1, aim: 0.7},
		{name: "latency 8 B, 63 other peers heard from, to 1", unit: "us", measurement: "heard 63", size: 8, against: "heard 1", bar: 1.3},
		{name: "the same, to a job of 2 ranks", unit: "us", measurement: "heard 63", size: 8, against: "latency", free: true},
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

// jobRows are the lines of whole jobs.
func jobRows() []row {
	return []row{
		{name: "start to end of 64 ranks", unit: "s", measurement: "startup", size: wallSize, against: better, bar: 0.2, aim: 0.1},
		{name: "all-to-all of 256 ranks, start to end", unit: "s", measurement: "all-to-all 256", size: wallSize, against: mpich, bar: 0.2},
		{name: "CPU of a rank blocked in Recv", unit: "%", measurement: "blocked", size: 8, against: absolute, bar: 0.1},
		{name: "64 MiB send to a rank that computes 200 ms", unit: "ms", measurement: "computing", size: 64 * mib, against: absolute, bar: 50},
		{name: "20 ms of work after a barrier, to its time alone", unit: "", measurement: "stall barrier", size: 8, against: openMPI, bar: 1.02},
		{name: "20 ms of work after an allreduce of 8 B", unit: "", measurement: "stall allreduce", size: 8, against: openMPI, bar: 1.02},
		{name: "20 ms of work after an exchange of 4 MiB", unit: "", measurement: "stall exchange", size: 4 * mib, against: openMPI, bar: 1.02},
		{name: "20 ms of work after a barrier, ranks not bound", unit: "", measurement: "stall unbound", size: 8, against: openMPI, bar: 1.02},
		{name: "loss of a rank, kill to the last survivor's error", unit: "ms", measurement: "loss", size: 0, against: absolute, bar: 1000},
		{name: "allocations per small message", unit: "", measurement: "allocations", size: 8, against: absolute, bar: 0.005},
		{name: "memory (PSS) of an idle rank of 64", unit: "KiB", measurement: "memory", size: 0, against: openMPI, bar: 2, aim: 1},
		{name: "memory (PSS) of a rank of 256 after an all-to-all", unit: "KiB", measurement: "memory 256", size: 0, against: absolute, bar: 12 * kib},
		{name: "shared memory of 256 ranks after an all-to-all", unit: "KiB", measurement: "shared 256", size: 0, against: absolute, bar: 256 * kib},
	}
}

// crowdRows are the lines of ranks that share the cores.
func crowdRows(ranks int) []row {
	lines := []struct {
		what, key string
		size      int
	}{
		{"latency 8 B of all pairs", "pairs", 8},
		{"allreduce 8 B", "allreduce", 8},
		{"allreduce 1 MiB", "allreduce long", mib},
		{"barrier", "barrier", 0},
	}
	rows := make([]row, 0, 2*len(lines))
	for _, line := range lines {
		r := row{
			name: fmt.Sprintf("%s, %d ranks", line.what, ranks), unit: "us",
			measurement: fmt.Sprintf("%s %d", line.key, ranks), size: line.size, against: openMPI, bar: 1, aim: 0.7,
		}
		spinning := r
		spinning.name += " (MPICH)"
		spinning.against, spinning.bar, spinning.aim = mpich, 0.01, 0
		rows = append(rows, r, spinning)
	}
	return rows
}
