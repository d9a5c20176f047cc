// Command loss measures how long the survivors of a rank that is killed wait until an
// operation that names the rank fails: from just before the kill, so the time includes
// gorun's reaping.
//
//	gorun -np 4 -on-failure continue ./bench/loss
//
// gorun's exit code is that of the killed rank.
package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// victim is the rank that is killed.
const victim = 1

const (
	tagDeath  = 1 // when the victim kills itself
	tagNever  = 2 // of the message that the victim does not send
	tagReport = 3 // how long a survivor waited
)

func main() {
	osu.Define("loss", "0", osu.Latency).Main(2, run)
}

// run does the part of one rank.
func run(w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	table, err := osu.NewTable(w, o, "Slowest (ms)")
	if err != nil {
		return err
	}
	if err := collectives.Barrier(c); err != nil {
		return err
	}
	if c.Rank() == victim {
		return die(c)
	}
	took, err := mourn(c)
	if err != nil {
		return err
	}
	if c.Rank() != 0 {
		return runtime.Send(c, []int64{int64(took)}, 0, tagReport)
	}
	for peer := victim + 1; peer < c.Size(); peer++ {
		var theirs [1]int64
		if _, err := runtime.Recv(c, theirs[:], peer, tagReport); err != nil {
			return err
		}
		took = max(took, time.Duration(theirs[0]))
	}
	if err := table.Row(0, osu.Micros(took)/1e3); err != nil {
		return err
	}
	return table.Close()
}

// die tells everyone the time and kills this process. The ranks of a node have the
// same clock.
func die(c *runtime.Comm) error {
	now := []int64{time.Now().UnixNano()}
	for peer := range c.Size() {
		if peer == victim {
			continue
		}
		if err := runtime.Send(c, now, peer, tagDeath); err != nil {
			return err
		}
	}
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// mourn returns the time from the victim's death to the error at this rank.
func mourn(c *runtime.Comm) (time.Duration, error) {
	var death, never [1]int64
	if _, err := runtime.Recv(c, death[:], victim, tagDeath); err != nil {
		return 0, err
	}
	_, err := runtime.Recv(c, never[:], victim, tagNever)
	var lost *runtime.PeerError
	if !errors.As(err, &lost) || lost.Rank != victim {
		return 0, fmt.Errorf("rank %d was not notified of the loss of rank %d: %w", c.Rank(), victim, err)
	}
	return time.Since(time.Unix(0, death[0])), nil
}
