// Command computing measures the time of a large send to a rank that computes. The receiver posts the
// receive, and then computes for a while without calling the runtime:
//
//	gorun -np 2 -bind-to core ./bench/computing -for 200ms
package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/runtime"
)

const (
	tag   = 1
	terms = 1000 // number of terms that are added up between two readings of the clock, in about a microsecond
)

func main() {
	o := osu.Define("computing").WithSizes("64M").WithCounts(osu.Counts{Small: 5, SmallWarmup: 1, Large: 5, LargeWarmup: 1}).WithArena()
	compute := flag.Duration("for", 200*time.Millisecond, "`time` for which rank 1 computes")
	o.Main(2, func(w *runtime.World, o *osu.Options) error {
		if *compute <= 0 {
			return fmt.Errorf("-for %v: rank 1 must compute for some time", *compute)
		}
		return run(w, o, *compute)
	})
}

// run executes the program of one rank: rank 0 sends and prints the times, rank 1 receives and
// computes.
func run(w *runtime.World, o *osu.Options, compute time.Duration) error {
	c := w.Comm()
	table, err := osu.NewTable(w, o, "Send (ms)", "Computed (ms)")
	if err != nil || c.Rank() > 1 {
		return err
	}
	slice, err := osu.Slice[byte](w, o, o.Largest())
	if err != nil {
		return err
	}
	return table.Rows(func(size int) ([]float64, error) {
		timed, warmup := o.Loops(size)
		mean := make([]float64, 2)
		for i := range warmup + timed {
			times, err := once(c, slice[:size], compute)
			if err != nil {
				return nil, err
			}
			if i >= warmup {
				mean[0] += times[0] / float64(timed)
				mean[1] += times[1] / float64(timed)
			}
		}
		return mean, nil
	})
}

// once does one send from rank 0 to rank 1. At rank 0 it returns the time of the send and the time of
// rank 1's computation, in milliseconds.
func once(c *runtime.Comm, slice []byte, compute time.Duration) (times [2]float64, err error) {
	if c.Rank() == 0 {
		if err := osu.Sync(c, 1); err != nil {
			return times, err
		}
		start := time.Now()
		if err := runtime.Send(c, slice, 1, tag); err != nil {
			return times, err
		}
		times[0] = osu.Micros(time.Since(start)) / 1000
		_, err := runtime.Recv(c, times[1:], 1, tag+1)
		return times, err
	}
	request := runtime.Irecv(c, slice, 0, tag)
	if err := osu.Sync(c, 0); err != nil {
		return times, err
	}
	start := time.Now()
	for time.Since(start) < compute {
		osu.Compute(terms)
	}
	times[1] = osu.Micros(time.Since(start)) / 1000
	if _, err := request.Wait(); err != nil {
		return times, err
	}
	return times, runtime.Send(c, times[1:], 0, tag+1)
}
