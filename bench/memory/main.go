// Command memory prints how much memory a rank uses after one barrier. It prints the proportional set size
// (PSS). A page that n processes share counts as 1/n page in the PSS of each of them.
//
//	gorun -np 64 ./bench/memory
//
// With -alltoall all ranks first exchange blocks, so that every pair of ranks has exchanged messages. With
// -shared, the first column is the memory that the ranks share, summed over all ranks.
package main

import (
	"flag"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// blockWords is the number of words in a block of the all-to-all.
const blockWords = 16

var (
	allToAll = flag.Bool("alltoall", false, "exchange blocks of 128 bytes between all ranks first, -i times")
	// The default is several all-to-alls, because a pair of ranks may get a ring of its own only after it has
	// exchanged some messages.
	times  = flag.Int("i", 20, "`number` of all-to-alls of -alltoall")
	shared = flag.Bool("shared", false, "begin with the shared memory of all ranks")
)

func main() {
	osu.Define("memory").Main(1, run)
}

// run runs the benchmark in one rank.
func run(w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	if *allToAll {
		if err := exchange(c, *times); err != nil {
			return err
		}
	}
	if err := collectives.Barrier(c); err != nil {
		return err
	}
	mine, err := resident()
	if err != nil {
		return err
	}
	all := make([]float64, 2*c.Size())
	// No rank may end before all ranks have measured, because the end of a rank increases the shares of the
	// other ranks in common pages.
	if err := collectives.AllGather(c, []float64{mine.total, mine.shared}, all); err != nil {
		return err
	}
	sum, largest, together := 0.0, 0.0, 0.0
	for pair := range slices.Chunk(all, 2) {
		sum += pair[0]
		largest = max(largest, pair[0])
		together += pair[1]
	}
	columns := []string{"PSS (KiB)", "Largest (KiB)", "All shared (KiB)"}
	values := []float64{sum / float64(c.Size()), largest, together}
	if *shared {
		columns[0], columns[2] = columns[2], columns[0]
		values[0], values[2] = values[2], values[0]
	}
	table, err := osu.NewTable(w, o, columns...)
	if err != nil {
		return err
	}
	return table.Only(0, values...)
}

// exchange does the all-to-alls.
func exchange(c *runtime.Comm, times int) error {
	if times < 1 {
		return fmt.Errorf("-i %d: want at least one all-to-all", times)
	}
	send, recv := make([]int64, blockWords*c.Size()), make([]int64, blockWords*c.Size())
	for i := range send {
		send[i] = 1 // a page that was never written would take no memory
	}
	for range times {
		if err := collectives.AllToAll(c, send, recv); err != nil {
			return err
		}
	}
	return nil
}
