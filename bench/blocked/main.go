// Command blocked measures the processor time that a rank uses while it is
// blocked in a receive:
//
//	gorun -np 2 ./bench/blocked -for 10s
package main

import (
	"flag"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/runtime"
)

const (
	tagRelease = 1
	tagShare   = 2
)

func main() {
	o := osu.Define("blocked")
	wait := flag.Duration("for", 10*time.Second, "`time` for which rank 1 is blocked")
	o.Main(2, func(w *runtime.World, o *osu.Options) error { return run(w, o, *wait) })
}

// run executes the program of one rank. Rank 0 sleeps for the duration wait and then sends a message. Rank 1 waits
// for this message, and then sends its share of processor time to rank 0, which prints the share.
func run(w *runtime.World, o *osu.Options, wait time.Duration) error {
	c := w.Comm()
	if c.Rank() > 1 {
		return nil
	}
	if err := osu.Sync(c, 1-c.Rank()); err != nil {
		return err
	}
	var word [1]int64
	var share [1]float64
	if c.Rank() == 1 {
		before, start := processorTime(), time.Now()
		if _, err := runtime.Recv(c, word[:], 0, tagRelease); err != nil {
			return err
		}
		share[0] = 100 * float64(processorTime()-before) / float64(time.Since(start))
		return runtime.Send(c, share[:], 0, tagShare)
	}
	time.Sleep(wait) // not a synchronization: rank 1 is measured while no message comes
	if err := runtime.Send(c, word[:], 1, tagRelease); err != nil {
		return err
	}
	if _, err := runtime.Recv(c, share[:], 1, tagShare); err != nil {
		return err
	}
	table, err := osu.NewTable(w, o, "CPU (%)")
	if err != nil {
		return err
	}
	return table.Only(8, share[0])
}

// processorTime returns the processor time that this process has used, user and system time together.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // getrusage only fails if an argument is wrong
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
