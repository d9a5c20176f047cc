// Command overlap measures a nonblocking allreduce together with a computation. Each rank starts the
// allreduce, computes, and waits for the allreduce. The first column is the mean duration of these three
// steps together. The second column is the shortest duration of the computation alone. If a runtime moves
// data while the program computes, the first duration is close to the duration of the longer of allreduce and
// computation. If the runtime moves data only during calls, the first duration is close to the sum of both
// durations:
//
//	gorun -np 2 -bind-to core ./bench/overlap -m 1M -for 1ms
package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

var work = flag.Duration("for", time.Millisecond, "`time` that the computation takes alone")

func main() {
	o := osu.Define("overlap").WithSizes("1M").WithCounts(osu.Counts{Small: 100, SmallWarmup: 10, Large: 100, LargeWarmup: 10}).WithArena()
	o.Type = "float32"
	o.Main(1, run)
}

// run runs the benchmark in one rank.
func run(w *runtime.World, o *osu.Options) error {
	if *work <= 0 {
		return fmt.Errorf("-for %v is no time to compute", *work)
	}
	c := w.Comm()
	send, recv, err := osu.Slices[float32](w, o)
	if err != nil {
		return err
	}
	terms, shortest := osu.Work(*work)
	table, err := osu.NewTable(w, o, "Total (us)", "Alone (us)")
	if err != nil {
		return err
	}
	return table.Rows(func(size int) ([]float64, error) {
		n := osu.Count[float32](size)
		timed, warmup := o.Loops(size)
		var total time.Duration
		for i := range warmup + timed {
			if err := collectives.Barrier(c); err != nil {
				return nil, err
			}
			start := time.Now()
			r := collectives.IAllReduce(c, send[:n], recv[:n], collectives.Sum)
			osu.Compute(terms)
			if _, err := r.Wait(); err != nil {
				return nil, err
			}
			if i >= warmup {
				total += time.Since(start)
			}
		}
		return osu.Means(c, osu.Micros(total)/float64(timed), osu.Micros(shortest))
	})
}
