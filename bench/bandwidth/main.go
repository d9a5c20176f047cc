// Command bandwidth measures how many bytes per second one rank sends to
// another, in windows of 64 messages, as osu_bw does:
//
//	gorun -np 2 -bind-to core ./bench/bandwidth
//
// With -arena, the slice of each rank is in the arena of that rank. The receiver can copy from an arena without a
// system call.
package main

import (
	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	bodies := osu.Bodies{Byte: run[byte], Int64: run[int64], Float32: run[float32], Float64: run[float64]}
	osu.Define("bandwidth").WithSizes("1:4M").WithCounts(osu.Bandwidth).WithArena().WithType().Main(2, bodies.Run)
}

// run executes the program of one rank: rank 0 sends, rank 1 receives.
func run[T osu.Element](w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	table, err := osu.NewTable(w, o, "Bandwidth (MB/s)")
	if err != nil || c.Rank() > 1 {
		return err
	}
	slice, err := osu.Slice[T](w, o, osu.Count[T](o.Largest()))
	if err != nil {
		return err
	}
	stream := osu.Stream[T]{Comm: c, Peer: 1 - c.Rank()}
	send, recv := slice, []T(nil)
	if c.Rank() == 1 {
		send, recv = recv, send
	}
	return table.Rows(func(size int) ([]float64, error) {
		took, err := stream.Run(o, size, send, recv)
		return []float64{osu.MBps(size, stream.Windows, took)}, err
	})
}
