package main

import (
	"fmt"
	"maps"
	"math"
	goruntime "runtime"
	"slices"
	"strings"

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

// crowds are the numbers of ranks per processor of the jobs that are measured. Each algorithm is also measured on
// two ranks.
var crowds = []int{1, 2, 4, 8}

// algorithm is an algorithm whose time is measured, with the lengths of its vectors or blocks. If most is not 0, the
// algorithm is measured only in jobs of at most that number of ranks.
type algorithm struct {
	operation, name string
	bytes           []int
	most            int
}

// trained are the algorithms to which a model is fitted. They include no algorithm of allreduce. Two of them
// exchange messages twice in a call on two ranks; without them, the time of a message could not be separated
// from the time of the call.
var trained = []algorithm{
	{"allgather", "ring", []int{8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10}, 0},
	{"alltoall", "pairwise", []int{8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10}, 0},
	{"reducescatter", "pairwise", []int{8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}, 0},
	{"reducescatter", "ring", []int{8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}, 0},
	{"scan", "recursive-doubling", []int{8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}, 0},
	{"reduce", "rabenseifner", []int{8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}, 0},
	{"bcast", "scatter-allgather", []int{8, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}, 0},
}

// checked are the algorithms whose predictions are compared with measurements to which the model is not fitted.
var checked = []algorithm{
	{"allreduce", "recursive-doubling", []int{8, 1 << 10, 16 << 10, 64 << 10, 1 << 20}, 0},
	{"allreduce", "ring", []int{8, 1 << 10, 16 << 10, 64 << 10, 1 << 20}, 0},
	{"allreduce", "rabenseifner", []int{8, 1 << 10, 16 << 10, 64 << 10, 1 << 20}, 2},
}

// calibration is a model with its mean deviation from the measurements to which it is fitted, and the
// measurements of the algorithms in checked.
type calibration struct {
	model   simulation.Model
	fitted  float64
	checked []observation
}

// deviations are the absolute deviations of some observations: their sum, their number, and the largest of them
// with its observation.
type deviations struct {
	sum     float64
	count   int
	largest float64 // with its sign
	at      simulation.Run
}

// add adds the deviation d of a row.
func (s *deviations) add(d float64, row simulation.Run) {
	s.sum += math.Abs(d)
	s.count++
	if math.Abs(d) >= math.Abs(s.largest) {
		s.largest, s.at = d, row
	}
}

// percent returns the mean in percent.
func (s *deviations) percent() float64 { return 100 * s.sum / float64(s.count) }

// text returns the mean deviation of the model from the measurements to which it is fitted, and its deviations from
// the measurements of the algorithms in checked, in total and for each number of ranks.
func (c *calibration) text() (string, error) {
	var all deviations
	byRanks := make(map[int]*deviations)
	for _, o := range c.checked {
		d, err := o.deviation(c.model)
		if err != nil {
			return "", err
		}
		n := o.run.Ranks
		if byRanks[n] == nil {
			byRanks[n] = new(deviations)
		}
		all.add(d, o.run)
		byRanks[n].add(d, o.run)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "simulate: the model deviates by %.1f%% on average from the measurements to which it is fitted,\n", 100*c.fitted)
	fmt.Fprintf(&out, "and by %.1f%% from those of allreduce, to which it is not fitted:\n", all.percent())
	for _, n := range slices.Sorted(maps.Keys(byRanks)) {
		s := byRanks[n]
		fmt.Fprintf(&out, "%4d ranks: %4.1f%%, largest %+.0f%% (%s, %d bytes)\n", n, s.percent(), 100*s.largest, s.at.Algorithm, s.at.Bytes)
	}
	return out.String(), nil
}

// calibrate returns a model of this machine as a single node. It measures ping-pongs and streams of two ranks,
// and the algorithms in trained and checked, all of them in turn. It makes a first model from the times of the
// ping-pongs and streams, and fits this model to the algorithms in trained. Each of the two searches of fit makes
// at most the number of tries that the argument tries gives. The programs that calibrate runs are in m.directory.
func calibrate(m *measurement, tries int) (c calibration, err error) {
	c.model = simulation.Model{
		RanksPerNode: 1 << 20, Processors: goruntime.NumCPU(),
		Network: simulation.Level{{Latency: 1000}}, // not used: there is only one node
		Call:    500, Combine: 0.1, Copy: 0.05, Cache: 2 << 20, Miss: 0.05, Visit: 1000, VisitPerRank: 100,
	}
	latency := &program{name: "latency", ranks: 2, sizes: append(append([]int{short}, edges...), announced...), arguments: []string{"-type", "float32"}}
	rate := &program{name: "messagerate", ranks: 2, sizes: []int{short}, arguments: []string{"-type", "float32"}}
	train, check := jobs(trained, c.model.Processors), jobs(checked, c.model.Processors)
	if err := m.measure(slices.Concat([]*program{latency, rate}, programs(train), programs(check))...); err != nil {
		return c, err
	}
	times, err := latency.medians()
	if err != nil {
		return c, err
	}
	messages, err := rate.medians()
	if err != nil {
		return c, err
	}
	c.model.Node = level(times, 1e9/messages[short])
	c.model.Processor = c.model.Node
	observed, err := observations(train)
	if err != nil {
		return c, err
	}
	if c.model, c.fitted, err = fit(c.model, observed, tries); err != nil {
		return c, err
	}
	c.checked, err = observations(check)
	return c, err
}

// job is an algorithm that a number of ranks executes.
type job struct {
	algorithm
	program *program
}

// jobs returns the jobs of the algorithms, for all numbers of ranks.
func jobs(all []algorithm, processors int) (list []job) {
	ranks := []int{2}
	for _, crowd := range crowds {
		if n := crowd * processors; n > 2 {
			ranks = append(ranks, n)
		}
	}
	for _, n := range ranks {
		for _, a := range all {
			if a.most == 0 || n <= a.most {
				list = append(list, job{a, collective(a.operation, a.name, n, a.bytes)})
			}
		}
	}
	return list
}

// programs returns the programs of jobs.
func programs(all []job) []*program {
	list := make([]*program, len(all))
	for i, j := range all {
		list[i] = j.program
	}
	return list
}

// observations returns what was measured of jobs.
func observations(all []job) (list []observation, err error) {
	for _, j := range all {
		measured, err := j.program.medians()
		if err != nil {
			return nil, err
		}
		for _, bytes := range j.bytes {
			u := simulation.Run{Operation: j.operation, Algorithm: j.name, Ranks: j.program.ranks, Bytes: bytes}
			list = append(list, observation{u, measured[bytes]})
		}
	}
	return list, nil
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
