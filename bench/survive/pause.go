package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

var (
	// iterations is 0 for 200 timed calls after 20 untimed ones.
	iterations = flag.Int("i", 0, "timed `calls` of Agree and of Shrink, after one that is not timed (default 200, after 20)")

	losses = flag.Int("pause", 0, "measure the pause of `N` losses of a rank, with gorun -on-failure respawn=N, in place of the rest")
	whole  = flag.Bool("agent", false, "with -pause and hosts: kill the agent of the host whose rank is to be lost, in place of the rank alone, so that the whole host is lost")
	cable  = flag.Bool("cut", false, "with -pause and hosts: kill nothing; the rank to be lost prints \"cut\", and the job continues until the user has cut off this rank's host")
)

// exchanges is the number of Barriers between two losses.
const exchanges = 100

// pauses measures how long the survivors of a loss pause. A pause is the time from the last Barrier before
// the loss to the first Barrier in the next World, at the slowest survivor.
func pauses(w *runtime.World, n int) error {
	var last time.Time
	var all []time.Duration
	return w.Resume(func(w *runtime.World) error {
		c := w.Comm()
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		pause := time.Duration(0)
		if !last.IsZero() {
			pause = time.Since(last)
		}
		pause, err := slowest(c, pause)
		if err != nil {
			return err
		}
		if w.Generation() > len(all) {
			all = append(all, pause)
		}
		if w.Generation() >= n {
			return show(w, all)
		}
		victim := c.Size() - 1 - w.Generation()%(c.Size()-1)
		for i := 0; ; i++ {
			switch {
			case i != exchanges || c.Rank() != victim:
			case !*cable:
				return kill()
			default:
				fmt.Println("cut")
			}
			if err := collectives.Barrier(c); err != nil {
				return err
			}
			last = time.Now()
		}
	})
}

// kill kills this rank or, with -agent, the agent of this rank's host. Then it blocks until this rank dies.
func kill() error {
	pid := os.Getpid()
	if *whole {
		pid = os.Getppid()
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	select {}
}

// show prints the pauses at rank 0, which has survived all losses.
func show(w *runtime.World, all []time.Duration) error {
	if w.Rank() != 0 {
		return nil
	}
	slices.Sort(all)
	_, err := fmt.Printf("%d losses of %d ranks: pause of the slowest survivor: median %.1f ms, max %.1f ms\n",
		len(all), w.Size(), milliseconds(all[len(all)/2]), milliseconds(all[len(all)-1]))
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
