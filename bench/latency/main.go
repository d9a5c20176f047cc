// Command latency measures the one-way time of a message between two ranks, as osu_latency does:
//
//	gorun -np 2 -bind-to core ./bench/latency
//
// With -pairs, all ranks take part: rank i exchanges messages with rank i+N/2 (osu_multi_lat). With -heard N,
// ranks 0 and 1 first receive a message from each of N other ranks. The other ranks then block in a receive.
// The result shows by how much idle peers, from which messages have arrived before, delay a message.
package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

const (
	tagHello = 201 // from the other ranks, before the measurement
	tagEnd   = 202 // to the other ranks, after the measurement
)

var (
	pairs = flag.Bool("pairs", false, "all ranks measure, rank i with rank i+N/2")
	heard = flag.Int("heard", 0, "`number` of other ranks from which ranks 0 and 1 receive first")
)

func main() {
	bodies := osu.Bodies{Byte: run[byte], Int64: run[int64], Float32: run[float32], Float64: run[float64]}
	osu.Define("latency").WithSizes("1:4M").WithCounts(osu.Latency).WithArena().WithType().Main(2, bodies.Run)
}

// run runs the benchmark in one rank.
func run[T osu.Element](w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	measuring, half := 2, 1
	if *pairs {
		measuring, half = c.Size(), c.Size()/2
	}
	switch {
	case c.Size() < 2+*heard:
		return fmt.Errorf("-heard %d needs %d ranks, not %d", *heard, 2+*heard, c.Size())
	case *pairs && (c.Size()%2 == 1 || *heard > 0):
		return errors.New("-pairs needs an even number of ranks and no -heard")
	case c.Rank() >= measuring:
		return beHeard(c)
	}
	if err := hear(c); err != nil {
		return err
	}
	s, r, err := osu.Slices[T](w, o)
	if err != nil {
		return err
	}
	table, err := osu.NewTable(w, o, "Latency (us)")
	if err != nil {
		return err
	}
	first := c.Rank() < half
	peer := (c.Rank() + half) % measuring
	err = table.Rows(func(size int) ([]float64, error) {
		n := osu.Count[T](size)
		timed, warmup := o.Loops(size)
		if *pairs {
			if err := collectives.Barrier(c); err != nil {
				return nil, err
			}
		}
		latency, err := osu.PingPong(c, peer, first, s[:n], r[:n], timed, warmup)
		if err == nil && *pairs {
			return osu.Means(c, latency)
		}
		return []float64{latency}, err
	})
	if err != nil {
		return err
	}
	return dismiss(c)
}

// beHeard runs in the ranks that do not measure. If -heard includes the rank, beHeard sends a
// message to ranks 0 and 1. Then it blocks until rank 0 has finished.
func beHeard(c *runtime.Comm) error {
	var word [1]int64
	if c.Rank() < 2+*heard {
		for peer := range 2 {
			if err := runtime.Send(c, word[:], peer, tagHello); err != nil {
				return err
			}
		}
	}
	_, err := runtime.Recv(c, word[:], 0, tagEnd)
	return err
}

// hear receives the messages that beHeard sends in other ranks.
func hear(c *runtime.Comm) error {
	var word [1]int64
	for range *heard {
		if _, err := runtime.Recv(c, word[:], runtime.AnySource, tagHello); err != nil {
			return err
		}
	}
	return nil
}

// dismiss ends beHeard: rank 0 sends a message to each rank that does not measure. In other ranks, dismiss
// does nothing.
func dismiss(c *runtime.Comm) error {
	var word [1]int64
	for peer := 2; c.Rank() == 0 && !*pairs && peer < c.Size(); peer++ {
		if err := runtime.Send(c, word[:], peer, tagEnd); err != nil {
			return err
		}
	}
	return nil
}
