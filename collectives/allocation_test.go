//go:build !race

package collectives_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// Small and large operations through shared memory allocate nothing.
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
			"allgather": func(c *runtime.Comm, b *buffers) error { return collectives.AllGather(c, b.one, b.all[:c.Size()]) },
			"alltoall":  func(c *runtime.Comm, b *buffers) error { return collectives.AllToAll(c, b.many, b.all) },
		} {
			t.Run(name, func(t *testing.T) {
				world(t, size, func(c *runtime.Comm) error {
					b := &buffers{make([]float64, 1), make([]float64, 1), make([]float64, 6000), make([]float64, 6000)}
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
						for range runs + 1 { // AllocsPerRun runs once more
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

// buffers are what one rank's operations work on.
type buffers struct{ one, sum, many, all []float64 }

var plus = collectives.Func(add, true)
