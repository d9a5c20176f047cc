package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/bench/peers/internal/chart"
)

// partedOperations are the collective operations that osuOperations lacks: reduce-scatters, scans, and
// operations with a count for each rank.
var partedOperations = []string{
	"reducescatter", "reducescatterblock", "scan", "exscan", "allgatherv", "gatherv", "scatterv", "alltoallv",
}

// collectiveRanks are the numbers of ranks in the measurements on one machine. The last numbers may far
// exceed the number of the machine's processors. networkRanks is the number of ranks in the measurements
// through the network.
var collectiveRanks = []int{2, 4, 8, 16}

const networkRanks = 4

// roomMax is the largest number of bytes that the buffers of all ranks together may have in one row of the
// table.
const roomMax = 2 << 30

// collectivePlan compares every collective operation as OSU's benchmarks measure it. It has more operations,
// larger messages and more ranks than osuPlan. It also compares a nonblocking operation that overlaps with a
// computation. All operations are also compared between ranks that communicate only through the network, over
// loopback. There, gorun uses iWARP in user space.
func collectivePlan() plan {
	var p plan
	p.name, p.peers, p.summary, p.long = "collectives", systems, true, true
	all := slices.Concat(osuOperations, partedOperations)
	sizes := append(slices.Clone(osuSizes), 16*mib)
	for _, ranks := range collectiveRanks {
		for _, operation := range all {
			for _, size := range sizes {
				if roomOf(operation, size, ranks) <= roomMax {
					p.addOSU(ranks, operation, operation+" "+chart.Bytes(size), size, lastingOf(operation, size))
				}
			}
		}
	}
	for _, alone := range []time.Duration{time.Millisecond, 5 * time.Millisecond} {
		args := []string{"-m", strconv.Itoa(mib), "-for", alone.String()}
		p.addOSU(2, "overlap", fmt.Sprintf("iallreduce 1 MiB beside %v of work", alone), mib, measurement{program: "overlap", args: args, quick: fewWorks})
	}
	for _, operation := range all {
		for _, size := range osuSizes {
			m := collectiveOf(operation, size)
			m.network = true
			p.addOSU(networkRanks, operation, operation+" "+chart.Bytes(size)+" through the network", size, m)
		}
	}
	p.measurements = bounded(p.measurements)
	return p
}

// roomOf returns how many bytes the buffers of all ranks together have.
func roomOf(operation string, size, ranks int) int {
	blocks := 2
	switch strings.TrimSuffix(operation, "v") {
	case "gather", "allgather", "scatter":
		blocks = 1 + ranks
	case "alltoall":
		blocks = 2 * ranks
	}
	return blocks * size * ranks
}

// lastingOf does the same as collectiveOf, but uses few iterations for messages above 1 MiB, because each
// iteration takes milliseconds.
func lastingOf(operation string, size int) measurement {
	m := collectiveOf(operation, size)
	if size > mib {
		m.args = append(m.args, "-i", "20", "-x", "2")
	}
	return m
}
