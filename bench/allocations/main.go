// Command allocations measures the number of heap allocations per message in a ping-pong of two ranks. It
// counts the allocations of the Send and of the Recv of a message together:
//
//	gorun -np 2 ./bench/allocations -m 8,1024
package main

import (
	goruntime "runtime"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	osu.Define("allocations").WithSizes("8,64,1024").WithCounts(osu.Latency).Main(2, run)
}

// run does the part of one rank. In a round trip, each rank sends and receives one message. The number of
// allocations per message is therefore the mallocs of both ranks, divided by twice the number of round trips.
func run(w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	table, err := osu.NewTable(w, o, "Allocations")
	if err != nil || c.Rank() > 1 {
		return err
	}
	peer := 1 - c.Rank()
	s, r := make([]byte, o.Largest()), make([]byte, o.Largest())
	return table.Rows(func(size int) ([]float64, error) {
		timed, warmup := o.Loops(size)
		if _, err := osu.PingPong(c, peer, c.Rank() == 0, s[:size], r[:size], warmup, 0); err != nil {
			return nil, err
		}
		before := mallocs()
		if _, err := osu.PingPong(c, peer, c.Rank() == 0, s[:size], r[:size], timed, 0); err != nil {
			return nil, err
		}
		var theirs [1]uint64
		mine := [1]uint64{mallocs() - before}
		_, err := runtime.SendRecv(c, mine[:], peer, 1, theirs[:], peer, 1)
		return []float64{float64(mine[0]+theirs[0]) / float64(2*timed)}, err
	})
}

// mallocs returns the number of heap objects allocated so far.
func mallocs() uint64 {
	var stats goruntime.MemStats
	goruntime.ReadMemStats(&stats)
	return stats.Mallocs
}
