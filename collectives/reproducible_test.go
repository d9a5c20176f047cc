package collectives_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// rounding returns numbers whose floating-point sum depends on the order of addition.
func rounding(r, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1 / float64(3*i+r+1)
		if (r+i)%3 == 0 {
			v[i] *= 1e16
		}
	}
	return v
}

// reductions runs every reduction (AllReduce also in its nonblocking form), and compares the bits
// of each result with those of a loop over the ranks.
func reductions(c *runtime.Comm, n int) error {
	rank, size := c.Rank(), c.Size()
	send, all := rounding(rank, n), fold(size, n, rounding, add)
	recv, again := make([]float64, n), make([]float64, n)
	err := errors.Join(collectives.AllReduce(c, send, recv, collectives.Sum), equal(c, "allreduce", recv, all),
		waited(collectives.IAllReduce(c, send, again, collectives.Sum)), equal(c, "iallreduce", again, all))
	clear(recv)
	err = errors.Join(err, collectives.Reduce(c, send, recv, collectives.Sum, size-1))
	if rank == size-1 {
		err = errors.Join(err, equal(c, "reduce", recv, all))
	}
	err = errors.Join(err, collectives.Scan(c, send, recv, collectives.Sum), equal(c, "scan", recv, fold(rank+1, n, rounding, add)))
	if err = errors.Join(err, collectives.ExScan(c, send, recv, collectives.Sum)); rank > 0 {
		err = errors.Join(err, equal(c, "exscan", recv, fold(rank, n, rounding, add)))
	}
	send, all = rounding(rank, n*size), fold(size, n*size, rounding, add)
	err = errors.Join(err, collectives.ReduceScatterBlock(c, send, recv, collectives.Sum), equal(c, "reducescatterblock", recv, all[rank*n:][:n]))
	counts := make([]int, size)
	counts[0], counts[size-1] = n, n*(size-1)
	own := all[:n]
	switch rank {
	case 0:
	case size - 1:
		own = all[n:]
	default:
		own = nil
	}
	recv = make([]float64, len(own))
	return errors.Join(err, collectives.ReduceScatter(c, send, recv, counts, collectives.Sum), equal(c, "reducescatter", recv, own))
}

// With GORUN_REPRODUCIBLE=1 every reduction has the bits of a loop over the ranks: on one node, between
// nodes, and with any algorithm in GORUN_COLL. Without this setting some reductions have other bits.
func TestReproducible(t *testing.T) {
	var ways []string
	for op, names := range collectives.Algorithms() {
		if strings.Contains(op, "reduce") || strings.Contains(op, "scan") {
			for _, name := range names {
				ways = append(ways, op+"="+name)
			}
		}
	}
	require.Greater(t, len(ways), 15)
	sizes := []int{2, 3, 5, 8}
	if testing.Short() {
		sizes = []int{2, 5}
	}
	var differ atomic.Int64
	for _, wanted := range []string{"1", "0"} {
		t.Setenv("GORUN_REPRODUCIBLE", wanted)
		for _, size := range sizes {
			world(t, size, func(w *runtime.Comm) error {
				for _, distant := range []bool{false, true} {
					c, err := dup(w, distant)
					if err != nil {
						return err
					}
					for _, way := range append([]string{""}, ways...) {
						if err := collectives.Override(c, way); err != nil {
							return err
						}
						for _, n := range []int{1, 40, 1500}[:3-len(wanted)*min(len(way), 1)] {
							err := reductions(c, n)
							if err != nil && wanted == "1" {
								return fmt.Errorf("%q, distant=%v, %d elements: %w", way, distant, n, err)
							}
							if err != nil {
								differ.Add(1)
							}
						}
					}
				}
				return nil
			})
		}
	}
	require.Positive(t, differ.Load(), "any order gives these bits")
}

// Reductions are reproducible also if every rank is a node of its own.
func TestReproducibleBetweenNodes(t *testing.T) {
	t.Setenv("GORUN_REPRODUCIBLE", "1")
	t.Setenv("GORUN_TRANSPORT", transports[len(transports)-1])
	for _, size := range []int{2, 5} {
		world(t, size, func(c *runtime.Comm) error { return errors.Join(reductions(c, 1), reductions(c, 3000)) })
	}
}
