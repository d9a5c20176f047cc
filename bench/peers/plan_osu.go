package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/bench/peers/internal/chart"
)

// osuSizes contains the sizes of messages in bytes. osuRanks contains the numbers of ranks.
var (
	osuSizes = []int{8, kib, 16 * kib, 64 * kib, mib}
	osuRanks = []int{2, 4, 8}
)

// osuOperations contains the collective operations that have a message size.
var osuOperations = []string{"bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"}

// osuPlan compares messages and collective operations as OSU's benchmarks measure them. Each row is measured by new
// processes, with OSU's default numbers of warm-up and timed iterations, and with buffers from the heap. Systems whose
// ranks poll without sleeping do fewer iterations with more than two ranks.
func osuPlan() plan {
	var p plan
	p.name, p.peers, p.summary, p.long = "osu", systems, true, true
	for _, ranks := range osuRanks {
		p.addPoints(ranks)
		p.addOSU(ranks, "barrier", "barrier", 0, measurement{program: "collective", args: []string{"-op", "barrier"}})
		for _, operation := range osuOperations {
			for _, size := range osuSizes {
				p.addOSU(ranks, operation, operation+" "+chart.Bytes(size), size, collectiveOf(operation, size))
			}
		}
	}
	p.addWritten()
	p.measurements = bounded(p.measurements)
	return p
}

// addPoints adds the measurements of messages between pairs of ranks. Bandwidth is measured with
// two ranks only. More ranks are not bound to cores: both ranks of a pair can then run on the same core, which is
// faster for long messages. The peers' ranks are not bound either (system.crowded).
func (p *plan) addPoints(ranks int) {
	for _, size := range osuSizes {
		of := func(program string, more ...string) measurement {
			m := measurement{program: program, args: append([]string{"-m", strconv.Itoa(size)}, more...)}
			if ranks > 2 {
				m.launch = []string{"-bind-to", "none"}
			}
			return m
		}
		latency, windows := of("latency"), []string{"-i", "100", "-x", "10"} // osu_mbw_mr
		if size > 8*kib {
			windows = []string{"-i", "20", "-x", "2"}
		}
		if ranks > 2 {
			latency = of("latency", "-pairs")
		}
		p.addOSU(ranks, "latency", "latency "+chart.Bytes(size), size, latency)
		p.addOSU(ranks, "rate", "messages of "+chart.Bytes(size), size, of("messagerate", windows...))
		if ranks == 2 {
			p.addOSU(ranks, "bandwidth", "bandwidth "+chart.Bytes(size), size, of("bandwidth"))
			p.addOSU(ranks, "bandwidth", "bidirectional bandwidth "+chart.Bytes(size), size, of("bibandwidth"))
		}
	}
}

// addWritten adds collectives in which every rank writes its buffer before each call. Without the writes, the
// buffers would stay in the caches of the ranks that read them.
func (p *plan) addWritten() {
	for _, operation := range osuOperations {
		for _, size := range []int{64 * kib, mib} {
			m := collectiveOf(operation, size)
			m.args = append(m.args, "-write")
			p.addOSU(2, operation, operation+" "+chart.Bytes(size)+", buffers written", size, m)
		}
	}
}

// collectiveOf returns the measurement of a collective operation.
func collectiveOf(operation string, size int) measurement {
	args := []string{"-op", operation, "-m", strconv.Itoa(size)}
	if strings.Contains(operation, "reduce") || strings.HasSuffix(operation, "scan") {
		args = append(args, "-type", "float32") // as in OSU's benchmarks
	}
	return measurement{program: "collective", args: args}
}

// addOSU adds a measurement and its row. With more than two ranks, which may outnumber the cores, each system gets
// its arguments for this case (system.crowded), and systems whose ranks poll without sleeping, such as MPICH, do
// fewer iterations.
func (p *plan) addOSU(ranks int, kind, name string, size int, m measurement) {
	r := row{unit: "us", size: size, against: better, bar: 1, aim: 0.7}
	switch kind {
	case "rate":
		r.unit, r.higher, r.aim = "1/s", true, 2
	case "bandwidth":
		r.unit, r.higher, r.aim = "MB/s", true, 1.4
	}
	r.name = fmt.Sprintf("%s, %d ranks", name, ranks)
	m.key, m.ranks, m.bound = r.name, ranks, ranks == 2
	if !m.bound {
		m.spinning = fewIterations
	}
	r.measurement = m.key
	p.measurements, p.rows = append(p.measurements, m), append(p.rows, r)
}
