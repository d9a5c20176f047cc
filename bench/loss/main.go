// Command loss measures how long the survivors of a rank that is killed wait until an
// operation that names the rank fails: from just before the kill, so the time includes
// gorun's reaping.
//
//	gorun -np 4 -on-failure continue ./bench/loss
//
// With -reading N the survivors receive messages of N bytes from the victim when it is killed, and
// one of them has a part of one: between nodes Reads are under way. In how many receives that
// ended was a part is printed, too.
//
// gorun's exit code is that of the killed rank.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	goruntime "runtime"
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
	tagLong   = 4 // of the message that the victim does not finish
	tagBegun  = 5 // a survivor has the first bytes of that

	// longs is the number of long messages to each survivor: the word of the first bytes may
	// take longer than the message.
	longs = 4
)

// ending is what a survivor has seen, as it reports it to rank 0.
type ending struct {
	Waited time.Duration
	// Partly is 1 if a part of a long message was there.
	Partly int64
}

var reading = flag.Int("reading", 0, "`bytes` of a message that each survivor receives from the victim meanwhile")

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
		return die(c, *reading)
	}
	all, err := mourn(c, *reading)
	if err != nil {
		return err
	}
	if c.Rank() != 0 {
		return runtime.Send(c, []ending{all}, 0, tagReport)
	}
	for peer := victim + 1; peer < c.Size(); peer++ {
		var theirs [1]ending
		if _, err := runtime.Recv(c, theirs[:], peer, tagReport); err != nil {
			return err
		}
		all = ending{max(all.Waited, theirs[0].Waited), all.Partly + theirs[0].Partly}
	}
	if *reading > 0 {
		fmt.Printf("# in the middle of a message: %d of %d\n", all.Partly, c.Size()-1)
	}
	return table.Only(0, osu.Micros(all.Waited)/1e3)
}

// die kills this process: when every other rank receives a message of so many bytes, or after
// it has told everyone the time. The ranks of a node have the same clock.
func die(c *runtime.Comm, long int) error {
	if long > 0 {
		if err := occupy(c, long); err != nil {
			return err
		}
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
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

// occupy sends every other rank long messages, and returns when one has the first bytes.
func occupy(c *runtime.Comm, long int) error {
	data := make([]byte, long)
	for i := range data {
		data[i] = 1
	}
	for peer := range c.Size() {
		if peer == victim {
			continue
		}
		for range longs {
			_ = runtime.Isend(c, data, peer, tagLong) // the last one does not end
		}
	}
	_, err := runtime.Recv(c, make([]byte, 1), runtime.AnySource, tagBegun)
	return err
}

// mourn returns the time from the victim's death, or from when this rank had the first bytes of
// its last long message, to the error at this rank.
func mourn(c *runtime.Comm, long int) (ending, error) {
	var since time.Time
	var partly int64
	var err error
	if long > 0 {
		since, partly, err = read(c, make([]byte, long))
	} else {
		var death, never [1]int64
		if _, err = runtime.Recv(c, death[:], victim, tagDeath); err != nil {
			return ending{}, err
		}
		since = time.Unix(0, death[0])
		_, err = runtime.Recv(c, never[:], victim, tagNever)
	}
	if lost, ok := errors.AsType[*runtime.PeerError](err); !ok || lost.Rank != victim {
		return ending{}, fmt.Errorf("rank %d was not notified of the loss of rank %d: %w", c.Rank(), victim, err)
	}
	return ending{time.Since(since), partly}, nil
}

// read receives long messages until one fails, and tells the victim when the first bytes are in buf.
// It returns the time of the first bytes of the last message, and whether that has ended in its
// middle.
func read(c *runtime.Comm, buf []byte) (since time.Time, partly int64, err error) {
	for told := false; err == nil; {
		clear(buf)
		var done bool
		r := runtime.Irecv(c, buf, victim, tagLong)
		for buf[0] == 0 && !done {
			if _, done, err = r.Test(); !done {
				goruntime.Gosched()
			}
		}
		since = time.Now()
		if done {
			continue // the victim was killed when another rank had some
		}
		if !told {
			_ = runtime.Send(c, buf[:1], victim, tagBegun) // what ends it ends the receive
			told = true
		}
		if _, err = r.Wait(); err != nil && buf[0] != 0 && buf[len(buf)-1] == 0 {
			partly = 1
		}
	}
	return since, partly, err
}
