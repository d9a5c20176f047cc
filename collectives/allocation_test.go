//go:build !race

package collectives_test

import (
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// After a warm-up, blocking operations through shared memory, small or large, allocate on average
// less than once for each call.
func TestNoAllocations(t *testing.T) {
	const runs = 200
	for _, size := range []int{2, 3} {
		for name, op := range map[string]func(c *runtime.Comm, b *buffers) error{
			"barrier": func(c *runtime.Comm, _ *buffers) error { return collectives.Barrier(c) },
			"allreduce": func(c *runtime.Comm, b *buffers) error {
				return collectives.AllReduce(c, b.one, b.sum, collectives.Sum)
			},
			"allreduce large": func(c *runtime.Comm, b *buffers) error {
				return collectives.AllReduce(c, b.many, b.all, collectives.Max)
			},
			"user operator": func(c *runtime.Comm, b *buffers) error { return collectives.AllReduce(c, b.one, b.sum, plus) },
			"bcast":         func(c *runtime.Comm, b *buffers) error { return collectives.Bcast(c, b.one, 0) },
			"reduce": func(c *runtime.Comm, b *buffers) error {
				return collectives.Reduce(c, b.one, b.sum, collectives.Sum, 1)
			},
			"allgather":         func(c *runtime.Comm, b *buffers) error { return collectives.AllGather(c, b.one, b.all[:c.Size()]) },
			"alltoall":          func(c *runtime.Comm, b *buffers) error { return collectives.AllToAll(c, b.many, b.all) },
			"alltoall in place": func(c *runtime.Comm, b *buffers) error { return collectives.AllToAll(c, b.all, b.all) },
			"reducescatterblock": func(c *runtime.Comm, b *buffers) error {
				return collectives.ReduceScatterBlock(c, b.all[:c.Size()], b.sum, collectives.Sum)
			},
			"reducescatter large": func(c *runtime.Comm, b *buffers) error {
				return collectives.ReduceScatter(c, b.many, b.all[:b.counts[c.Rank()]], b.counts, collectives.Sum)
			},
			"scan":       func(c *runtime.Comm, b *buffers) error { return collectives.Scan(c, b.one, b.sum, collectives.Sum) },
			"scan large": func(c *runtime.Comm, b *buffers) error { return collectives.Scan(c, b.many, b.all, collectives.Max) },
			"exscan":     func(c *runtime.Comm, b *buffers) error { return collectives.ExScan(c, b.one, b.sum, collectives.Sum) },
			"allgatherv": func(c *runtime.Comm, b *buffers) error {
				return collectives.AllGatherV(c, b.many[:b.counts[c.Rank()]], b.all, b.counts, b.displs)
			},
			"gatherv": func(c *runtime.Comm, b *buffers) error {
				return collectives.GatherV(c, b.one, b.all, b.ones, b.displs, 1)
			},
			"scatterv": func(c *runtime.Comm, b *buffers) error {
				return collectives.ScatterV(c, b.all, b.ones, b.displs, b.one, 1)
			},
			"alltoallv": func(c *runtime.Comm, b *buffers) error {
				return collectives.AllToAllV(c, b.many, b.ones, b.displs, b.all, b.ones, nil)
			},
			"alltoallv large": func(c *runtime.Comm, b *buffers) error {
				return collectives.AllToAllV(c, b.many, b.equal, nil, b.all, b.equal, nil)
			},
		} {
			t.Run(name, func(t *testing.T) {
				world(t, size, func(c *runtime.Comm) error {
					b := newBuffers(c.Size())
					var failed error
					step := func() {
						if err := op(c, b); err != nil {
							failed = err
						}
					}
					for range 20 {
						step()
					}
					if c.Rank() != 0 {
						for range runs + 1 { // AllocsPerRun calls step once more than runs
							step()
						}
						return failed
					}
					require.Less(t, testing.AllocsPerRun(runs, step), 1.0)
					return failed
				})
			})
		}
	}
}

// buffers are the slices that the operations of one rank read and write, with their counts and
// displacements.
type buffers struct {
	one, sum, many, all []float64
	// counts has a block length for each rank, and the lengths differ. In ones and in equal, the
	// lengths of all ranks are the same. displs places the blocks in the reverse order of the ranks.
	counts, ones, equal, displs []int
}

func newBuffers(size int) *buffers {
	b := &buffers{one: make([]float64, 1), sum: make([]float64, 1), many: make([]float64, 6000), all: make([]float64, 6000)}
	each, last := 6000/size, size-1
	for i := range size {
		b.ones, b.equal, b.counts = append(b.ones, 1), append(b.equal, each), append(b.counts, each)
		b.displs = append(b.displs, 100+each*(last-i))
	}
	b.counts[0] -= 100
	b.counts[last] += 100
	b.displs[last] = 0
	return b
}

var plus = collectives.Func(add, true)

// A nonblocking operation reuses the internal memory of the previous operation. The test checks that, on average, two
// ranks together allocate at most an eighth of the length of a buffer per operation. Each rank makes at most 15
// allocations, for the request, its context.Context and the handover to another goroutine.
func TestNonblockingOperationsKeepMemory(t *testing.T) {
	const n, runs, pieces = 64 << 10, 200, 15
	world(t, 2, func(c *runtime.Comm) error {
		send, recv := make([]int64, n), make([]int64, n)
		once := func() error {
			_, err := collectives.IAllReduce(c, send, recv, collectives.Sum).Wait()
			return err
		}
		if err := once(); err != nil {
			return err
		}
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		for range runs {
			if err := once(); err != nil {
				return err
			}
		}
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		goruntime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > runs*n {
			return fmt.Errorf("%d operations on %d bytes allocated %d bytes", runs, 8*n, grown)
		}
		if made := after.Mallocs - before.Mallocs; made > 2*runs*pieces { // of both ranks
			return fmt.Errorf("%d operations of each of two ranks made %d allocations", runs, made)
		}
		return nil
	})
}
