package main

import (
	"slices"

	"github.com/gorun-hpc/gorun/bench/peers/internal/chart"
)

// hostCount is the number of hosts, with one rank each, of hostPlan.
const hostCount = 4

// hostPlan compares every collective operation of ranks on different hosts, as OSU's benchmarks measure it. The hosts
// are network namespaces of this machine, so that they share its processors. The systems communicate by TCP.
func hostPlan() plan {
	var p plan
	p.name, p.hosts, p.peers, p.summary, p.long = "hosts", hostCount, hostSystems, true, true
	p.addOSU(hostCount, "barrier", "barrier", 0, measurement{program: "collective", args: []string{"-op", "barrier"}})
	for _, operation := range slices.Concat(osuOperations, partedOperations) {
		for _, size := range osuSizes {
			p.addOSU(hostCount, operation, operation+" "+chart.Bytes(size), size, collectiveOf(operation, size))
		}
	}
	p.measurements = bounded(p.measurements)
	return p
}

// hostSystems returns gorun and Open MPI over TCP. The variant of Open MPI yields between two polls. A user
// has to request these yields, because Open MPI assumes on every host that no other host uses its processors.
func hostSystems(dir string, ucx bool) []system {
	all := systems(dir, ucx)[:2]
	// Every host has all processors of this machine, so that the first ranks of all hosts would be bound to
	// the same processor.
	all[0].crowded, all[1].crowded = nil, []string{"--bind-to", "none"}
	all[1].always = all[1].network
	yields := all[1]
	yields.name, yields.title, yields.variant = "openmpi-yields", "Open MPI, yields", true
	yields.always = slices.Concat(yields.always, []string{"--mca", "mpi_yield_when_idle", "1"})
	return append(all, yields)
}
