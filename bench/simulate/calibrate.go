package main

import (
	"fmt"
	goruntime "runtime"

	"github.com/gorun-hpc/gorun/collectives/simulation"
)

// These are lengths, in bytes, of the messages that are timed. Some of these lengths are the ends of the
// segments of a simulation.Level. Messages with a length in the slice announced use rendezvous.
var (
	edges     = []int{1 << 10, 4 << 10, 16 << 10}
	announced = []int{32 << 10, 64 << 10, 256 << 10, 1 << 20}
)

const (
	short = 8
	long  = 64 << 10 // length of the vectors that are copied and combined
	few   = 2        // the smaller number of ranks per processor in the measurements of Model.Visit
	many  = 8        // the larger number of ranks per processor in these measurements
)

// calibrate returns a model of this machine as a single node. It measures ping-pongs and streams of two
// ranks, collective calls of one and of two ranks, and a ring of ranks that share processors. The programs
// for this are in m.directory.
func calibrate(m *measurement) (simulation.Model, error) {
	processors := goruntime.NumCPU()
	model := simulation.Model{
		RanksPerNode: 1 << 20, Processors: processors,
		Network: simulation.Level{{Latency: 1000}}, // not used: there is only one node
	}
	latency, err := m.run(2, append(append([]int{short}, edges...), announced...), nil, "latency", "-type", "float32")
	if err != nil {
		return model, err
	}
	rate, err := m.run(2, []int{short}, nil, "messagerate", "-type", "float32")
	if err != nil {
		return model, err
	}
	model.Node = level(latency, 1e9/rate[short])
	alone, err := m.collective("allreduce", "recursive-doubling", 1, []int{short, long})
	if err != nil {
		return model, err
	}
	model.Call = 1e3 * alone[short]
	model.Copy = 1e3 * max(alone[long]-alone[short], 0) / (long - short)
	exchange, err := m.collective("alltoall", "pairwise", 2, []int{long})
	if err != nil {
		return model, err
	}
	combine, err := m.collective("allreduce", "recursive-doubling", 2, []int{long})
	if err != nil {
		return model, err
	}
	model.Combine = 1e3 * max(combine[long]-exchange[long], 0) / long
	fewer, err := visit(m, model, few)
	if err != nil {
		return model, err
	}
	more, err := visit(m, model, many)
	model.VisitPerRank = max(more-fewer, 0) / (many - few)
	model.Visit = max(fewer-few*model.VisitPerRank, 0)
	return model, err
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

// visit returns the value of Model.Visit for which the model predicts the measured time of a ring. crowd is
// the number of ranks that share each processor.
func visit(m *measurement, model simulation.Model, crowd int) (float64, error) {
	u := simulation.Run{Operation: "allgather", Algorithm: "ring", Ranks: crowd * model.Processors, Bytes: short, Model: model}
	measured, err := m.collective(u.Operation, u.Algorithm, u.Ranks, []int{short})
	if err != nil {
		return 0, err
	}
	low, high := 0.0, 1e6
	for high-low > 1 {
		u.Model.Visit = (low + high) / 2
		res, err := u.Predict()
		if err != nil {
			return 0, fmt.Errorf("time of a visit: %w", err)
		}
		if res.Mean.Seconds()*1e6 < measured[short] {
			low = u.Model.Visit
		} else {
			high = u.Model.Visit
		}
	}
	return low, nil
}
