// Command messagerate measures the number of messages per second that pairs of ranks transfer, from
// rank i to rank i+N/2, in windows of 64, as osu_mbw_mr does:
//
//	gorun -np 2 -bind-to core ./bench/messagerate -m 8
package main

import (
	"fmt"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	bodies := osu.Bodies{Byte: run[byte], Int64: run[int64], Float32: run[float32], Float64: run[float64]}
	osu.Define("messagerate").WithSizes("1:4K").WithCounts(osu.MessageRate).WithArena().WithType().Main(2, bodies.Run)
}

// run runs the benchmark in one rank. The lower half of the ranks sends, and the upper half receives.
func run[T osu.Element](w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	if c.Size()%2 == 1 {
		return fmt.Errorf("%d ranks do not make pairs", c.Size())
	}
	table, err := osu.NewTable(w, o, "Messages/s", "MB/s")
	if err != nil {
		return err
	}
	slice, err := osu.Slice[T](w, o, osu.Count[T](o.Largest()))
	if err != nil {
		return err
	}
	half := c.Size() / 2
	stream := osu.Stream[T]{Comm: c, Peer: (c.Rank() + half) % c.Size()}
	send, recv := slice, []T(nil)
	if c.Rank() >= half {
		send, recv = recv, send
	}
	return table.Rows(func(size int) ([]float64, error) {
		if err := collectives.Barrier(c); err != nil {
			return nil, err
		}
		took, err := stream.Run(o, size, send, recv)
		if err != nil {
			return nil, err
		}
		if recv != nil {
			took = 0
		}
		mean, err := osu.Means(c, 2*took.Seconds()) // twice, because half of the ranks contribute 0
		if err != nil {
			return nil, err
		}
		rate := float64(half) * float64(stream.Windows) * osu.Window / mean[0]
		return []float64{rate, rate * float64(size) / 1e6}, nil
	})
}
