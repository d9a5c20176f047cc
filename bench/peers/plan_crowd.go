package main

import "fmt"

// crowds contains the numbers of ranks in the measurements of ranks that share the cores.
var crowds = []int{4, 8, 16}

// crowdPlan compares gorun with Open MPI and MPICH when ranks outnumber the cores.
func crowdPlan() plan {
	measurements, rows := manyMeasurements(), manyRows()
	for _, ranks := range crowds {
		measurements = append(measurements, crowdMeasurements(ranks)...)
		rows = append(rows, crowdRows(ranks)...)
	}
	return plan{
		name: "crowd", title: "gorun beside Open MPI and MPICH: more ranks than cores",
		measurements: bounded(measurements), rows: rows, peers: systems,
	}
}

// manyMeasurements returns the measurements of jobs of tens and hundreds of ranks.
func manyMeasurements() []measurement {
	return []measurement{
		{key: "heard 63", program: "latency", ranks: 65, alone: true, args: append([]string{"-m", "8", "-heard", "63"}, warm...), quick: []string{"-i", "20", "-x", "2", "-heard", "6"}},
		{key: "heard 1", program: "latency", ranks: 65, alone: true, args: append([]string{"-m", "8", "-heard", "1"}, warm...)},
		{key: "all-to-all 256", program: "allall", ranks: 256, wall: true, timeout: timeoutHuge},
		{key: "memory 256", program: "memory", ranks: 256, alone: true, args: []string{"-alltoall"}, quick: []string{}},
		{key: "shared 256", program: "memory", ranks: 256, alone: true, args: []string{"-alltoall", "-shared"}, quick: []string{}},
	}
}

// crowdMeasurements returns the measurements of ranks that share the cores.
func crowdMeasurements(ranks int) []measurement {
	key := func(what string) string { return fmt.Sprintf("%s %d", what, ranks) }
	return []measurement{
		{key: key("pairs"), program: "latency", ranks: ranks, args: append([]string{"-pairs", "-m", "8"}, warmFew...), spinning: fewIterations},
		{key: key("allreduce"), program: "collective", ranks: ranks, args: append(allreduce("8"), warmFew...), spinning: fewIterations},
		{key: key("allreduce long"), program: "collective", ranks: ranks, args: append(allreduce("1M"), warmLong...), spinning: fewIterations},
		{key: key("barrier"), program: "collective", ranks: ranks, args: append([]string{"-op", "barrier"}, warmFew...), spinning: fewIterations},
	}
}

// manyRows returns the rows of jobs of tens and hundreds of ranks.
func manyRows() []row {
	return []row{
		{name: "latency 8 B, 63 other peers heard from, to 1", unit: "us", measurement: "heard 63", size: 8, against: "heard 1", bar: 1.3},
		{name: "all-to-all of 256 ranks, start to end", unit: "s", measurement: "all-to-all 256", size: wallSize, against: mpich, bar: 0.2},
		{name: "memory (PSS) of a rank of 256 after an all-to-all", unit: "KiB", measurement: "memory 256", size: 0, against: absolute, bar: 12 * kib},
		{name: "shared memory of 256 ranks after an all-to-all", unit: "KiB", measurement: "shared 256", size: 0, against: absolute, bar: 256 * kib},
	}
}

// crowdRows returns the rows of ranks that share the cores.
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
