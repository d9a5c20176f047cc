// Command loss measures how long the survivors of a rank that is killed wait until an
// operation that names the rank fails: from just before the kill, so the time includes
// gorun's reaping.
//
//	gorun -np 4 -on-failure continue ./bench/loss
//
// With -reading N the survivors receive a message of N bytes from the victim when it is killed,
// and one of them has some: between nodes Reads are under way.
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
)

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
	took, err := mourn(c, *reading)
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
	return table.Only(0, osu.Micros(took)/1e3)
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

// occupy sends every other rank a long message, and returns when one has the first bytes.
func occupy(c *runtime.Comm, long int) error {
	data := make([]byte, long)
	for i := range data {
		data[i] = 1
	}
	for peer := range c.Size() {
		if peer != victim {
			_ = runtime.Isend(c, data, peer, tagLong) // it does not end
		}
	}
	_, err := runtime.Recv(c, make([]byte, 1), runtime.AnySource, tagBegun)
	return err
}

// mourn returns the time from the victim's death, or from when this rank had the first bytes of
// its long message, to the error at this rank.
func mourn(c *runtime.Comm, long int) (time.Duration, error) {
	var since time.Time
	var err error
	if long > 0 {
		since, err = read(c, make([]byte, long))
	} else {
		var death, never [1]int64
		if _, err = runtime.Recv(c, death[:], victim, tagDeath); err != nil {
			return 0, err
		}
		since = time.Unix(0, death[0])
		_, err = runtime.Recv(c, never[:], victim, tagNever)
	}
	if lost, ok := errors.AsType[*runtime.PeerError](err); !ok || lost.Rank != victim {
		return 0, fmt.Errorf("rank %d was not notified of the loss of rank %d: %w", c.Rank(), victim, err)
	}
	return time.Since(since), nil
}

// read receives the long message and tells the victim when the first bytes are in buf, of
// which it returns the time.
func read(c *runtime.Comm, buf []byte) (time.Time, error) {
	r := runtime.Irecv(c, buf, victim, tagLong)
	for buf[0] == 0 {
		if _, done, err := r.Test(); done {
			return time.Now(), err // the victim was killed when another rank had some
		}
		goruntime.Gosched()
	}
	since := time.Now()
	_ = runtime.Send(c, buf[:1], victim, tagBegun) // what ends it ends the receive
	_, err := r.Wait()
	return since, err
}
