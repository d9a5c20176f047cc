// Command connect measures the time of the first message between two ranks, which includes
// the setup of their connection:
//
//	gorun -np 18 -transport rdma ./bench/connect
//
// Rank 0 sends a message to one rank after the other and waits for each answer. A rank sleeps in Recv until
// the message of rank 0 comes. The first column is the round-trip time from the call of Send to the answer,
// as the median over the ranks. The second column is the round-trip time of the next message to each rank,
// also as the median.
package main

import (
	"errors"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/runtime"
)

// Tags.
const (
	tagReady    = 1 // passed from rank to rank until all are ready
	tagQuestion = 2
	tagAnswer   = 3
)

func main() {
	osu.Define("connect").WithSizes("8").Main(3, run)
}

// run does the part of one rank. The last rank is not measured, because it is already connected to rank 0: it
// has told rank 0 that all ranks are ready.
func run(w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	if len(o.Sizes) != 1 {
		return errors.New("want one message size (-m N): only the first message to a rank sets up the connection")
	}
	table, err := osu.NewTable(w, o, "First (us)", "Next (us)")
	if err != nil {
		return err
	}
	message := make([]byte, o.Sizes[0])
	if c.Rank() > 0 {
		return serve(c, message)
	}
	var ready [1]byte
	if _, err := runtime.Recv(c, ready[:], c.Size()-1, tagReady); err != nil {
		return err
	}
	var times [2][]time.Duration
	for peer := 1; peer < c.Size()-1; peer++ {
		for i := range times {
			took, err := ask(c, message, peer)
			if err != nil {
				return err
			}
			times[i] = append(times[i], took)
		}
	}
	return table.Only(len(message), osu.Micros(median(times[0])), osu.Micros(median(times[1])))
}

// serve does the part of every rank except rank 0.
func serve(c *runtime.Comm, message []byte) error {
	var ready [1]byte
	if c.Rank() > 1 {
		if _, err := runtime.Recv(c, ready[:], c.Rank()-1, tagReady); err != nil {
			return err
		}
	}
	last := c.Size() - 1
	if err := runtime.Send(c, ready[:], (c.Rank()+1)%c.Size(), tagReady); err != nil || c.Rank() == last {
		return err
	}
	for range 2 {
		if _, err := runtime.Recv(c, message, 0, tagQuestion); err != nil {
			return err
		}
		if err := runtime.Send(c, message, 0, tagAnswer); err != nil {
			return err
		}
	}
	return nil
}

// ask sends message to a rank, waits for its answer and returns the round-trip time.
func ask(c *runtime.Comm, message []byte, peer int) (time.Duration, error) {
	start := time.Now()
	if err := runtime.Send(c, message, peer, tagQuestion); err != nil {
		return 0, err
	}
	_, err := runtime.Recv(c, message, peer, tagAnswer)
	return time.Since(start), err
}

// median returns the median of durations, of which there is at least one.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return (d[(len(d)-1)/2] + d[len(d)/2]) / 2
}
