// Command collective measures collective operations in the same way as the OSU Micro-Benchmarks
// (osu_allreduce and others). The result is the time of one call, averaged over calls and ranks. Each call is
// timed on its own. Unless the operation is itself a barrier, each call is followed by a barrier that is not timed.
//
//	gorun -np 2 -bind-to core ./bench/collective -op allreduce -type float32
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

var (
	operation = flag.String("op", "allreduce", "`operation`: "+strings.Join(operationNames, ", "))
	full      = flag.Bool("full", false, "print the smallest and the largest mean of a rank, too")
	write     = flag.Bool("write", false, "write the send buffer between calls, outside the measured time: a buffer that never changes stays in its readers' caches")
)

func main() {
	o := osu.Define("collective").WithSizes("1:1M").WithCounts(osu.Collective).WithArena().WithType()
	o.Parse()
	if !slices.Contains(operationNames, *operation) {
		fmt.Fprintf(os.Stderr, "collective: unknown operation %q\n", *operation)
		os.Exit(2)
	}
	o.Title = *operation
	if strings.HasSuffix(*operation, "barrier") {
		o.Sizes = []int{0}
	}
	runtime.Main(func(w *runtime.World) error {
		return osu.Bodies{Byte: run[byte], Int64: run[int64], Float32: run[float32], Float64: run[float64]}.Run(w, o)
	})
}

// run does the part of one rank.
func run[T osu.Element](w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	sendBlocks, recvBlocks := blocks(*operation, c.Size())
	largest := osu.Count[T](o.Largest())
	send, err := osu.Slice[T](w, o, largest*sendBlocks)
	if err != nil {
		return err
	}
	recv, err := osu.Slice[T](w, o, largest*recvBlocks)
	if err != nil {
		return err
	}
	columns := []string{"Avg Latency (us)"}
	if *full {
		columns = append(columns, "Min Latency (us)", "Max Latency (us)")
	}
	table, err := osu.NewTable(w, o, columns...)
	if err != nil {
		return err
	}
	return table.Rows(func(size int) ([]float64, error) {
		n := osu.Count[T](size)
		call := newCall(*operation, c, send[:n*sendBlocks], recv[:n*recvBlocks])
		timed, warmup := o.Loops(size)
		mean, err := measure(c, call, renewal(send[:n*sendBlocks]), timed, warmup)
		if err != nil {
			return nil, err
		}
		values, err := spread(c, mean)
		if err != nil {
			return nil, err
		}
		return values[:len(columns)], nil
	})
}

// renewal returns the function that measure runs after call i, outside the measured time. With -write, this
// function changes the elements of send.
func renewal[T osu.Element](send []T) func(i int) {
	if !*write {
		return func(int) {}
	}
	return func(i int) {
		for k := range send {
			send[k] = T(i%writtenValues + 1)
		}
	}
}

// writtenValues is the number of different values that renewal writes. Each value fits every element type.
const writtenValues = 64

// measure returns the mean time of a call at this rank in microseconds.
func measure(c *runtime.Comm, call func() error, renew func(i int), timed, warmup int) (float64, error) {
	separate := !strings.HasSuffix(*operation, "barrier")
	if err := collectives.Barrier(c); err != nil {
		return 0, err
	}
	var total time.Duration
	origin := time.Now() // time.Since reads the monotonic clock only and is cheaper than time.Now
	for i := range warmup + timed {
		start := time.Since(origin)
		if err := call(); err != nil {
			return 0, err
		}
		if i >= warmup {
			total += time.Since(origin) - start
		}
		renew(i)
		if separate {
			if err := collectives.Barrier(c); err != nil {
				return 0, err
			}
		}
	}
	return osu.Micros(total) / float64(timed), nil
}

// spread returns the mean, the smallest and the largest of the ranks' values.
func spread(c *runtime.Comm, mine float64) ([]float64, error) {
	all := make([]float64, c.Size())
	if err := collectives.AllGather(c, []float64{mine}, all); err != nil {
		return nil, err
	}
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return []float64{sum / float64(len(all)), slices.Min(all), slices.Max(all)}, nil
}
