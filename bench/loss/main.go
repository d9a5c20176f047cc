// Command loss kills a rank (the victim). For each other rank (a survivor) it measures the time until the
// survivor's operation with the victim fails. The time begins just before the kill, so that it includes the
// time in which gorun reaps the process. The result is the longest of the survivors' times.
//
//	gorun -np 4 -on-failure continue ./bench/loss
//
// Without -reading, all ranks must be on one host, because the victim's clock gives the beginning of the time
// and the survivors' clocks give its end.
//
// With -reading N, the survivors are receiving messages of N bytes from the victim when the victim is killed.
// At that time, at least one survivor has told the victim that the first bytes of a message have arrived.
// Between nodes, RDMA Reads are in progress at the kill. With -reading, the time begins when a survivor has
// the first bytes of the message whose receive later fails. The output also says how many of the failed
// receives had received a part of their message.
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
	tagDeath  = 1 // the time at which the victim kills itself
	tagNever  = 2 // a message that the victim never sends
	tagReport = 3 // the report of a survivor, see ending
	tagLong   = 4 // the long messages, some of which the victim does not finish
	tagBegun  = 5 // a survivor has the first bytes of a long message

	// longs is the number of long messages to each survivor. If there were only one, it might be complete
	// before the victim receives the message with tagBegun, so that no receive would be in progress at the
	// kill.
	longs = 4
)

// ending is the report of a survivor to rank 0. Waited is the time until its operation failed.
type ending struct {
	Waited time.Duration
	// Partly is 1 if a part of a long message had arrived when its receive failed.
	Partly int64
}

var reading = flag.Int("reading", 0, "length in `bytes` of the messages that survivors receive from the victim when it is killed (default: none, for ranks on one host)")

func main() {
	osu.Define("loss").Main(2, run)
}

// run executes the benchmark at one rank.
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
	if err := w.Handled(victim); err != nil {
		return err
	}
	return table.Only(0, osu.Micros(all.Waited)/1e3)
}

// die kills this process. If long is not 0, die first begins to send every other rank messages of long bytes.
// If long is 0, die first sends every other rank the time.
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

// occupy begins to send every other rank several messages of long bytes. It returns when at least one other
// rank has the first bytes of a message.
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
			_ = runtime.Isend(c, data, peer, tagLong) // sends that are not complete end with the kill
		}
	}
	_, err := runtime.Recv(c, make([]byte, 1), runtime.AnySource, tagBegun)
	return err
}

// mourn waits for the error that the victim's death causes at this rank, and returns the time until the
// error. If long is 0, the time begins at the death. Otherwise, the time begins at the time that the function
// read returns as since.
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

// read receives messages of len(buf) bytes until a receive fails. It tells the victim once that the first
// bytes of a message are in buf. The result since is the time at which the first bytes of the last message
// arrived. If no byte of the last message arrived, since is the time at which the receive of that message
// failed. The result partly is 1 if the receive failed in the middle of the message.
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
			continue // the victim needs no message about this one, because it waits for only one survivor
		}
		if !told {
			_ = runtime.Send(c, buf[:1], victim, tagBegun) // if the Send fails, the receive fails as well
			told = true
		}
		if _, err = r.Wait(); err != nil && buf[0] != 0 && buf[len(buf)-1] == 0 {
			partly = 1
		}
	}
	return since, partly, err
}
