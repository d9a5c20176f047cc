// Command bibandwidth measures how many bytes per second two ranks send to each
// other at the same time, in windows of 64 messages, as osu_bibw does:
//
//	gorun -np 2 -bind-to core ./bench/bibandwidth
package main

import (
	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	bodies := osu.Bodies{Byte: run[byte], Int64: run[int64], Float32: run[float32], Float64: run[float64]}
	osu.Define("bibandwidth").WithSizes("1:4M").WithCounts(osu.Bandwidth).WithArena().WithType().Main(2, bodies.Run)
}

// run executes the program of one rank: ranks 0 and 1 both send and receive.
func run[T osu.Element](w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	table, err := osu.NewTable(w, o, "Bandwidth (MB/s)")
	if err != nil || c.Rank() > 1 {
		return err
	}
	s, r, err := osu.Slices[T](w, o)
	if err != nil {
		return err
	}
	stream := osu.Stream[T]{Comm: c, Peer: 1 - c.Rank()}
	return table.Rows(func(size int) ([]float64, error) {
		took, err := stream.Run(o, size, s, r)
		return []float64{2 * osu.MBps(size, stream.Windows, took)}, err
	})
}
