package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// operationNames contains the operations that can be tuned.
var operationNames = []string{"barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"}

// rounds is how often all algorithms are measured, one after the other. The median of the rounds counts.
const rounds = 5

// gain is a fraction of the time of the built-in choice. Another algorithm replaces the built-in choice only
// if it takes less than this fraction.
const gain = 0.9

// tune returns the lines of the table.
func tune(c *runtime.Comm, o options) ([]string, error) {
	// The communicator c uses the algorithm that is measured. The operations that are not timed use the
	// communicator timing.
	timing, err := c.Dup()
	if err != nil {
		return nil, err
	}
	lines, err := table(c, timing, o)
	return lines, errors.Join(err, timing.Close())
}

// table measures the operations on c and returns the lines of the table.
func table(c, timing *runtime.Comm, o options) (lines []string, err error) {
	perNode := widest(c.Placement())
	for _, op := range o.operations {
		sizes := o.sizes
		if op == "barrier" {
			sizes = []int{0}
		}
		best := make([]string, len(sizes))
		for i, size := range sizes {
			if best[i], err = fastest(c, timing, op, size, o.iterations); err != nil {
				return nil, fmt.Errorf("%s of %d bytes: %w", op, size, err)
			}
		}
		for i, name := range best {
			if i+1 < len(best) && best[i+1] == name {
				continue
			}
			most := "*"
			if i+1 < len(best) {
				most = fmt.Sprint(sizes[i])
			}
			lines = append(lines, fmt.Sprintf("%-10s %6d %9d %12s  %s\n", op, c.Size(), perNode, most, name))
		}
	}
	return lines, nil
}

// widest returns the largest number of ranks on a node.
func widest(placement []int) int {
	ranks := make([]int, len(placement))
	for _, node := range placement {
		ranks[node]++
	}
	return slices.Max(ranks)
}

// fastest returns the fastest algorithm for an operation and a length. If no algorithm takes less than gain
// times the time of the built-in choice, fastest returns the built-in choice.
func fastest(c, timing *runtime.Comm, op string, size, iterations int) (string, error) {
	if err := collectives.Tune(c, nil); err != nil {
		return "", err
	}
	builtIn, err := collectives.Choice(c, op, size)
	if err != nil {
		return "", err
	}
	call := newCall(c, op, size)
	names := collectives.AlgorithmNames(op)
	times := make(map[string][]float64)
	for range rounds {
		for _, name := range names {
			able, err := take(c, op, name, size)
			if err != nil {
				return "", err
			}
			if !able {
				continue
			}
			seconds, err := measure(timing, call, iterations)
			if err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			times[name] = append(times[name], seconds)
		}
	}
	choice, limit := builtIn, gain*median(times[builtIn])
	for _, name := range names {
		if m := median(times[name]); name != builtIn && len(times[name]) > 0 && m < limit {
			choice, limit = name, m
		}
	}
	return choice, nil
}

// take makes c use an algorithm, and reports whether the algorithm can serve calls of that size.
func take(c *runtime.Comm, op, name string, size int) (bool, error) {
	table, err := collectives.ParseTable(strings.NewReader(op + " * * * " + name))
	if err != nil {
		return false, err
	}
	if err := collectives.Tune(c, table); err != nil {
		return false, err
	}
	got, err := collectives.Choice(c, op, size)
	return got == name, err
}

// measure returns the duration of a call in seconds: the mean of some calls at the slowest rank.
func measure(timing *runtime.Comm, call func() error, iterations int) (float64, error) {
	if err := call(); err != nil { // the first call may allocate memory and open connections
		return 0, err
	}
	if err := collectives.Barrier(timing); err != nil {
		return 0, err
	}
	start := time.Now()
	for range iterations {
		if err := call(); err != nil {
			return 0, err
		}
	}
	slowest := []float64{time.Since(start).Seconds() / float64(iterations)}
	err := collectives.AllReduce(timing, slowest, slowest, collectives.Max)
	return slowest[0], err
}

// median returns the median of v, or 0 if v is empty.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// newCall returns the call that is measured. The root is rank 0. Reductions add bytes.
func newCall(c *runtime.Comm, op string, size int) func() error {
	one, all := make([]byte, size), make([]byte, size*c.Size())
	other := make([]byte, len(all))
	switch op {
	case "bcast":
		return func() error { return collectives.Bcast(c, one, 0) }
	case "reduce":
		return func() error { return collectives.Reduce(c, one, other[:size], collectives.Sum, 0) }
	case "allreduce":
		return func() error { return collectives.AllReduce(c, one, other[:size], collectives.Sum) }
	case "gather":
		return func() error { return collectives.Gather(c, one, all, 0) }
	case "scatter":
		return func() error { return collectives.Scatter(c, all, one, 0) }
	case "allgather":
		return func() error { return collectives.AllGather(c, one, all) }
	case "alltoall":
		return func() error { return collectives.AllToAll(c, all, other) }
	default:
		return func() error { return collectives.Barrier(c) }
	}
}
