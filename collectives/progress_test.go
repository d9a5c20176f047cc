package collectives_test

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// A nonblocking operation progresses while the program computes. The other members need data that rank
// 1 must forward, and rank 1 calls no function of the runtime until the other members have finished.
func TestProgressWhileComputing(t *testing.T) {
	const size = 5
	for name, start := range map[string]func(c *runtime.Comm, in, out []int64) runtime.Request{
		"iscan": func(c *runtime.Comm, in, out []int64) runtime.Request {
			return collectives.IScan(c, in, out, collectives.Sum)
		},
		"iallreduce": func(c *runtime.Comm, in, out []int64) runtime.Request {
			return collectives.IAllReduce(c, in, out, collectives.Sum)
		},
		"iallgather": func(c *runtime.Comm, in, out []int64) runtime.Request {
			return collectives.IAllGather(c, in[:len(in)/size], out)
		},
	} {
		for _, n := range []int{size, 100 * size, 20_000 * size} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				var finished atomic.Int64
				var computed float64
				world(t, size, func(c *runtime.Comm) error {
					request := start(c, make([]int64, n), make([]int64, n))
					if c.Rank() == 1 {
						for finished.Load() < size-1 {
							computed = computed*0.5 + 1
						}
					}
					err := waited(request)
					finished.Add(1)
					return err
				})
			})
		}
	}
}

// Operations with counts work with displacements of more than 4 GiB.
func TestBlocksBeyondFourGigabytes(t *testing.T) {
	if os.Getenv("GORUN_SOAK") != "1" {
		t.Skip("needs GORUN_SOAK=1 and 18 GiB of address space")
	}
	world(t, 2, func(c *runtime.Comm) error {
		const far, n = 4<<30 + 3, 5 << 10
		rank := c.Rank()
		recv := make([]byte, far+2*n)
		mine := make([]byte, n)
		mine[0], mine[n-1] = byte(rank+1), byte(rank+3)
		counts, displs := []int{n, n}, []int{far, far + n}
		ends := []byte{1, 3, 2, 4}
		of := func(b []byte) []byte { return []byte{b[far], b[far+n-1], b[far+n], b[far+2*n-1]} }
		if err := errors.Join(collectives.AllGatherV(c, mine, recv, counts, displs), equal(c, "allgatherv", of(recv), ends)); err != nil {
			return err
		}
		got := make([]byte, n)
		if err := errors.Join(collectives.ScatterV(c, recv, counts, displs, got, 1), equal(c, "scatterv", got, mine)); err != nil {
			return err
		}
		clear(got)
		back, ones := []int{far + n, far}, []int{n, n}
		all := make([]byte, far+2*n)
		copy(all[far:], mine)
		copy(all[far+n:], mine)
		err := collectives.AllToAllV(c, all, ones, displs, recv, ones, back)
		return errors.Join(err, equal(c, "alltoallv", of(recv), []byte{2, 4, 1, 3}))
	})
}
