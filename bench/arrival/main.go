// Command arrival measures how long a message is under way to a rank that is busy with
// another rank meanwhile: from the sender's call to the end of the receive, by the clock of
// the one machine on which all run. With the machine declared as two nodes, the message
// arrives over the network and the others through shared memory:
//
//	gorun -host a:2,b:2 -rsh "env GORUN_HOSTID=%h" -np 4 ./bench/arrival -busy 1
//
// Rank 0 receives from any source. The last rank sends to it now and then. Rank 1 sends
// without pause and waits for an answer after every -busy messages: 1 is a ping-pong, 64 a
// flood; with 0 it sends nothing.
package main

import (
	"errors"
	"flag"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/runtime"
)

// Tags.
const (
	tagHello  = 1 // the last rank has started
	tagTimed  = 2 // when it was sent, in nanoseconds
	tagBusy   = 3 // the neighbour's
	tagAnswer = 4 // to the neighbour: 1 to continue, 0 to end
)

// pause is between two messages that are timed.
const pause = 200 * time.Microsecond

var busy = flag.Int("busy", 0, "`number` of messages that rank 1 sends before it waits for an answer, 0: it is silent")

func main() {
	osu.Define("arrival", "8", osu.Latency).Main(3, run)
}

// run does the part of one rank.
func run(w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	switch {
	case !slices.Equal(o.Sizes, []int{8}):
		return errors.New("the message is a time: -m 8")
	case *busy < 0:
		return errors.New("-busy is negative")
	}
	timed, warmup := o.Loops(8)
	switch c.Rank() {
	case 0:
		table, err := osu.NewTable(w, o, "Median (us)", "90th in 100 (us)")
		if err != nil {
			return err
		}
		times, err := receive(c, timed+warmup)
		if err != nil {
			return err
		}
		times = times[warmup:]
		slices.Sort(times)
		return table.Only(8, osu.Micros(times[len(times)/2]), osu.Micros(times[len(times)*9/10]))
	case 1:
		return distract(c)
	case c.Size() - 1:
		return send(c, timed+warmup)
	default:
		return nil
	}
}

// receive is the part of rank 0: it takes what comes, answers its neighbour, and
// returns how long the timed messages were under way.
func receive(c *runtime.Comm, n int) ([]time.Duration, error) {
	var word [1]int64
	far := c.Size() - 1
	if _, err := runtime.Recv(c, word[:], far, tagHello); err != nil {
		return nil, err
	}
	if err := runtime.Send(c, word[:], far, tagHello); err != nil {
		return nil, err
	}
	times := make([]time.Duration, 0, n)
	for of := 0; len(times) < n; {
		status, err := runtime.Recv(c, word[:], runtime.AnySource, runtime.AnyTag)
		switch {
		case err != nil:
			return nil, err
		case status.Tag == tagTimed:
			times = append(times, time.Duration(time.Now().UnixNano()-word[0]))
			continue
		}
		if of++; of == *busy {
			of = 0
			if err := answer(c, 1); err != nil {
				return nil, err
			}
		}
	}
	return times, finish(c)
}

// finish ends the neighbour's part. Up to two windows of its messages are not received.
func finish(c *runtime.Comm) error {
	if *busy == 0 {
		return nil
	}
	return answer(c, 0)
}

// answer makes the neighbour continue or end.
func answer(c *runtime.Comm, word int64) error {
	return runtime.Send(c, []int64{word}, 1, tagAnswer)
}

// distract is the part of rank 1: windows of -busy messages, with an answer to each.
func distract(c *runtime.Comm) error {
	var word [1]int64
	for goOn := *busy > 0; goOn; goOn = word[0] == 1 {
		for range *busy {
			if err := runtime.Send(c, word[:], 0, tagBusy); err != nil {
				return err
			}
		}
		if _, err := runtime.Recv(c, word[:], 0, tagAnswer); err != nil {
			return err
		}
	}
	return nil
}

// send is the part of the last rank.
func send(c *runtime.Comm, n int) error {
	var word [1]int64
	if err := runtime.Send(c, word[:], 0, tagHello); err != nil {
		return err
	}
	if _, err := runtime.Recv(c, word[:], 0, tagHello); err != nil {
		return err
	}
	for range n {
		time.Sleep(pause)
		word[0] = time.Now().UnixNano()
		if err := runtime.Send(c, word[:], 0, tagTimed); err != nil {
			return err
		}
	}
	return nil
}
