// Command handover measures the time of a handover of arena memory. In each round trip,
// each rank hands a new Buffer over to the other rank, which then owns it. Ranks of one node copy no memory. For
// this reason, the time does not depend on the size:
//
//	gorun -np 2 -bind-to core ./bench/handover
//
// The other columns are the times of touching every page of the memory, which no runtime can avoid. "First
// touch" is the sender's first write, which faults the pages in. "First read" and "Next read" are the
// receiver's first and second read. At the second read, the receiver has already mapped the pages.
package main

import (
	"fmt"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/runtime"
)

const (
	pageSize = 4096
	tag      = 1
)

func main() {
	osu.Define("handover").WithSizes("8,64K,1M,64M").WithCounts(osu.Collective).Main(2, run)
}

// run executes the program of one rank.
func run(w *runtime.World, o *osu.Options) error {
	c := w.Comm()
	table, err := osu.NewTable(w, o, "Handover (us)", "First touch (us)", "First read (us)", "Next read (us)")
	if err != nil || c.Rank() > 1 {
		return err
	}
	return table.Rows(func(size int) ([]float64, error) {
		touch, err := touchAndRead(w, size)
		if err != nil {
			return nil, err
		}
		timed, warmup := o.Loops(size)
		oneWay, err := pingPong(w, size, timed, warmup)
		return append([]float64{oneWay}, touch[:]...), err
	})
}

// pingPong returns the time of a handover in one direction in microseconds. In each round trip each rank
// hands over a Buffer of its own. The rank allocates its Buffer before the timed round trip. After the round
// trip, it frees the Buffer that it has received.
func pingPong(w *runtime.World, size, timed, warmup int) (float64, error) {
	c, peer := w.Comm(), 1-w.Rank()
	var total time.Duration
	origin := time.Now()
	for i := range warmup + timed {
		mine, err := runtime.Alloc[byte](w, size)
		if err != nil {
			return 0, err
		}
		if err := osu.Sync(c, peer); err != nil {
			return 0, err
		}
		start := time.Since(origin)
		came, err := exchange(c, mine, peer)
		if err != nil {
			return 0, err
		}
		if i >= warmup {
			total += time.Since(origin) - start
		}
		came.Buffer().Close()
	}
	return osu.Micros(total) / float64(2*timed), nil
}

// exchange hands mine over to the peer and returns the message with the peer's Buffer. Rank 0 sends
// first.
func exchange(c *runtime.Comm, mine *runtime.Buffer, peer int) (*runtime.Message, error) {
	if c.Rank() == 0 {
		if err := runtime.SendBuffer[byte](c, mine, peer, tag); err != nil {
			return nil, err
		}
		return runtime.RecvMessage(c, peer, tag)
	}
	came, err := runtime.RecvMessage(c, peer, tag)
	if err != nil {
		return nil, err
	}
	return came, runtime.SendBuffer[byte](c, mine, peer, tag)
}

// touchAndRead returns three times in microseconds. The first is the time in which rank 0 writes to every
// page of a new Buffer. The others are the times of the first and the second read of every page by rank 1
// after the handover. Both ranks return the same times.
func touchAndRead(w *runtime.World, size int) ([3]float64, error) {
	c, peer := w.Comm(), 1-w.Rank()
	var mine, theirs [3]float64
	if c.Rank() == 0 {
		buffer, err := runtime.Alloc[byte](w, size)
		if err != nil {
			return mine, err
		}
		start := time.Now()
		view := runtime.View[byte](buffer)
		for at := 0; at < len(view); at += pageSize {
			view[at] = byte(at/pageSize) | 1
		}
		mine[0] = osu.Micros(time.Since(start))
		if err := runtime.SendBuffer[byte](c, buffer, peer, tag); err != nil {
			return mine, err
		}
	} else {
		came, err := runtime.RecvMessage(c, peer, tag)
		if err != nil {
			return mine, err
		}
		view := runtime.View[byte](came.Buffer())
		for i := 1; i <= 2; i++ {
			if mine[i], err = readPages(view); err != nil {
				return mine, err
			}
		}
		came.Buffer().Close()
	}
	if _, err := runtime.SendRecv(c, mine[:], peer, tag+1, theirs[:], peer, tag+1); err != nil {
		return mine, err
	}
	for i := range mine {
		mine[i] += theirs[i]
	}
	return mine, nil
}

// readPages reads and checks a byte of every page, and returns the time in microseconds.
func readPages(view []byte) (float64, error) {
	start := time.Now()
	for at := 0; at < len(view); at += pageSize {
		if view[at] != byte(at/pageSize)|1 {
			return 0, fmt.Errorf("byte %d is %d", at, view[at])
		}
	}
	return osu.Micros(time.Since(start)), nil
}
