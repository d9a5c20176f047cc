// Command arrival measures the latency of a message to a rank that receives messages of another rank
// at the same time. The latency is the time from the sender's call to the end of the receive, by the
// clock of the one machine on which all ranks run. If the machine is declared as two nodes, the timed
// message arrives over the network and the other messages through shared memory:
//
//	gorun -host a:2,b:2 -rsh "env GORUN_HOSTID=%h" -np 4 ./bench/arrival -busy 1
//
// Rank 0 receives from any source. The last rank sends timed messages to it, with pauses of 200 us. Rank 1
// sends without a pause, and waits for an answer after every -busy messages. With -busy 1, the messages of
// rank 1 are a ping-pong. With -busy 64, they are a flood. With -busy 0, rank 1 sends nothing.
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
	tagTimed  = 2 // a timed message: the time at which it was sent, in nanoseconds
	tagBusy   = 3 // a message of rank 1
	tagAnswer = 4 // to rank 1: 1 to continue, 0 to end
)

// pause is the time between two timed messages.
const pause = 200 * time.Microsecond

var busy = flag.Int("busy", 0, "`number` of messages that rank 1 sends before it waits for an answer, 0 to send none")

func main() {
	osu.Define("arrival").WithCounts(osu.Latency).Main(3, run)
}

// run executes the program of one rank.
func run(w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	if *busy < 0 {
		return errors.New("-busy is negative")
	}
	timed, warmup := o.Loops(8)
	switch c.Rank() {
	case 0:
		table, err := osu.NewTable(w, o, "Median (us)", "90% within (us)")
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

// receive executes the program of rank 0. It receives messages until n timed messages have arrived, answers
// rank 1, and returns the latencies of the timed messages.
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
	of := 0 // number of messages of rank 1 since the last answer
	for len(times) < n {
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
	if *busy == 0 {
		return times, nil
	}
	for ; of < *busy; of++ { // rank 1 receives the answer only when all sends of its window have ended
		if _, err := runtime.Recv(c, word[:], 1, tagBusy); err != nil {
			return nil, err
		}
	}
	return times, answer(c, 0)
}

// answer sends a word to rank 1. The word 1 makes rank 1 continue, and the word 0 makes rank 1 end.
func answer(c *runtime.Comm, word int64) error {
	return runtime.Send(c, []int64{word}, 1, tagAnswer)
}

// distract executes the program of rank 1. It sends windows of -busy messages, and waits for an answer after
// each window.
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

// send executes the program of the last rank. It sends n timed messages to rank 0.
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
