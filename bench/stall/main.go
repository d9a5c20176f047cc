// Command stall measures how much a communication operation slows down the computation that follows the
// operation. Each rank first computes alone, and then repeats an operation followed by the same computation.
// The command prints the mean time of the computation after the operation, divided by the shortest time of
// the computation alone. The result shows how much work the runtime does on the program's core outside of
// calls:
//
//	gorun -np 2 -bind-to core ./bench/stall -op barrier -for 20ms
package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

const tag = 1

var (
	operation = flag.String("op", "barrier", "`operation` before the work: barrier, allreduce or exchange")
	work      = flag.Duration("for", 20*time.Millisecond, "`time` that the work takes")
)

func main() {
	o := osu.Define("stall").WithSizes("8").WithCounts(osu.Counts{Small: 50, SmallWarmup: 2, Large: 50, LargeWarmup: 2}).WithArena()
	o.Main(2, run)
}

// run runs the benchmark in one rank.
func run(w *runtime.World, o *osu.Options) error {
	if *work <= 0 {
		return fmt.Errorf("-for %v is no time to work", *work)
	}
	c := w.Comm()
	mine, theirs, err := osu.Slices[byte](w, o)
	if err != nil {
		return err
	}
	terms, shortest := osu.Work(*work)
	table, err := osu.NewTable(w, o, "Stretch")
	if err != nil {
		return err
	}
	return table.Rows(func(size int) ([]float64, error) {
		timed, warmup := o.Loops(size)
		var total time.Duration
		for i := range warmup + timed {
			if err := communicate(c, mine[:size], theirs[:size]); err != nil {
				return nil, err
			}
			if took := osu.Compute(terms); i >= warmup {
				total += took
			}
		}
		return osu.Means(c, float64(total)/float64(timed)/float64(shortest))
	})
}

// communicate runs the operation before the computation.
func communicate(c *runtime.Comm, mine, theirs []byte) error {
	switch *operation {
	case "barrier":
		return collectives.Barrier(c)
	case "allreduce":
		return collectives.AllReduce(c, mine, theirs, collectives.Max)
	case "exchange":
		peer := c.Rank() ^ 1
		if peer == c.Size() {
			return nil // the last rank of an odd number of ranks has no peer
		}
		_, err := runtime.SendRecv(c, mine, peer, tag, theirs, peer, tag)
		return err
	default:
		return fmt.Errorf("unknown operation %q", *operation)
	}
}
