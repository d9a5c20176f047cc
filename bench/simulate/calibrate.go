package main

import (
	goruntime "runtime"

	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// These are lengths, in bytes, of the messages that are timed. Some of these lengths are the ends of the
// segments of a simulation.Level. Messages with a length in the slice announced use rendezvous.
var (
	edges     = []int{1 << 10, 4 << 10, 16 << 10}
	announced = []int{32 << 10, 64 << 10, 256 << 10, 1 << 20}
)

// short is the length of a message whose bytes take almost no time.
const short = 8

// crowds are the numbers of ranks per processor of the jobs to which a model is fitted. One more job has two
// ranks.
var crowds = []int{1, 2, 4, 8}

// trained are the algorithms to which a model is fitted, with the lengths of their vectors or blocks. They
// include no algorithm of allreduce, because docs/simulation.md compares predictions with measurements for
// allreduce.
var trained = []struct {
	operation, algorithm string
	bytes                []int
}{
	{"allgather", "ring", []int{8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10}},
	{"alltoall", "pairwise", []int{8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10}},
	{"reducescatter", "pairwise", []int{8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}},
	{"reducescatter", "ring", []int{8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}},
	{"scan", "recursive-doubling", []int{8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}},
}

// calibrate returns a model of this machine as a single node, and the deviation of its predictions from the
// measurements to which it is fitted (see fit). It measures ping-pongs and streams of two ranks, and makes
// a first model of these measurements. Then it measures the rows of trained, and fits the model to them.
// The programs for this are in m.directory.
func calibrate(m *measurement) (simulation.Model, float64, error) {
	model := simulation.Model{
		RanksPerNode: 1 << 20, Processors: goruntime.NumCPU(),
		Network: simulation.Level{{Latency: 1000}}, // not used: there is only one node
		Call:    500, Combine: 0.1, Copy: 0.05, Visit: 1000, VisitPerRank: 100,
	}
	latency, err := m.run(2, append(append([]int{short}, edges...), announced...), nil, "latency", "-type", "float32")
	if err != nil {
		return model, 0, err
	}
	rate, err := m.run(2, []int{short}, nil, "messagerate", "-type", "float32")
	if err != nil {
		return model, 0, err
	}
	model.Node = level(latency, 1e9/rate[short])
	model.Processor = model.Node
	all, err := observe(m, model.Processors)
	if err != nil {
		return model, 0, err
	}
	return fit(model, all)
}

// observe measures the rows of trained on jobs of several numbers of ranks.
func observe(m *measurement, processors int) (all []observation, err error) {
	ranks := []int{2}
	for _, crowd := range crowds {
		if n := crowd * processors; n > 2 {
			ranks = append(ranks, n)
		}
	}
	for _, n := range ranks {
		for _, row := range trained {
			measured, err := m.collective(row.operation, row.algorithm, n, row.bytes)
			if err != nil {
				return nil, err
			}
			for _, bytes := range row.bytes {
				u := simulation.Run{Operation: row.operation, Algorithm: row.algorithm, Ranks: n, Bytes: bytes}
				all = append(all, observation{u, measured[bytes]})
			}
		}
	}
	return all, nil
}

// level returns the segments of a node. latency contains the one-way times of messages in microseconds.
// stream is the processor time in nanoseconds of one message in a stream.
func level(latency figures, stream float64) simulation.Level {
	whole := 1e3 * latency[short]
	overhead := min(stream, whole/2)
	way := whole - 2*overhead
	l := make(simulation.Level, 0, len(edges)+len(announced)-1)
	from := short
	for _, to := range edges {
		slope, start := line(latency, from, to)
		l = append(l, simulation.Segment{
			Most: to, Latency: way, Overhead: max(start-way, 0) / 2, SendPerByte: slope / 2, RecvPerByte: slope / 2,
		})
		from = to
	}
	for i, to := range announced[1:] {
		slope, start := line(latency, announced[i], to)
		s := simulation.Segment{
			Most: to, Latency: way, Overhead: overhead, RecvPerByte: slope, Rendezvous: true, Handshake: max(start-2*overhead-2*way, 0),
		}
		if i == len(announced)-2 {
			s.Most = 0
		}
		l = append(l, s)
	}
	return l
}

// line returns properties of the line through two figures: its slope in nanoseconds per byte, and its value
// at zero bytes in nanoseconds.
func line(f figures, from, to int) (slope, start float64) {
	slope = max(1e3*(f[to]-f[from])/float64(to-from), 0)
	return slope, 1e3*f[to] - slope*float64(to)
}
