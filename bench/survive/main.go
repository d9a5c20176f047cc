// Command survive measures the steps by which the survivors continue after the loss of a rank: detect the
// death, revoke, agree and shrink.
//
//	gorun -np 8 -on-failure continue ./bench/survive
//
// Agree and Shrink are the mean times of many calls, at the slowest rank. Shrink includes the Close of the
// communicator that the call has made. Revoke is the median of 21 times.
// Each is the time from the call of Revoke until the receives of all other ranks have ended. Detect is the
// time from just before the kill until a receive from any source has returned an error at all survivors.
// "Agree after" is the time of the Ack and the Agree that follow the detection. "Shrink after" is the time
// of the Shrink after this Agree. Both are the times at the slowest survivor. The ranks of a node have the
// same clock. If the job has several hosts, Revoke and Detect have no meaning, because the hosts have
// different clocks.
//
// With -ulfm, the user starts the command without gorun. The command then runs many such jobs itself and
// prints the medians of their values, in Markdown:
//
//	go run ./bench/survive -ulfm [-np 2,4,8,16,32,64] [-jobs 11]
//
// With -pause, the command measures how long the survivors pause their computation while a lost rank is
// started again:
//
//	gorun -np 4 -on-failure respawn=20 [-spares 20] ./bench/survive -pause 20
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

const (
	tagTime  = 1 // tag of the message with the time of the kill
	tagNever = 2 // tag of a message that no rank sends
	// revocations is the number of calls of Revoke. Each call is timed on its own.
	revocations = 21
)

func main() {
	o := osu.Define("survive")
	o.Parse()
	if *ulfm { // this process starts jobs, and is not a rank
		if err := series(context.Background(), os.Stdout, *iterations); err != nil {
			fmt.Fprintln(os.Stderr, "survive:", err)
			os.Exit(1)
		}
		return
	}
	o.Main(2, run)
}

// run runs the benchmark in one rank.
func run(w *runtime.World, o *osu.Options) error {
	if *losses > 0 {
		return pauses(w, *losses)
	}
	table, err := osu.NewTable(w, o, "Agree (us)", "Shrink (us)", "Revoke (us)", "Detect (us)", "Agree after (us)", "Shrink after (us)")
	if err != nil {
		return err
	}
	c := w.Comm()
	timed, warmup := 200, 20
	if *iterations > 0 {
		timed, warmup = *iterations, 1
	}
	agree, err := mean(c, timed, warmup, func() error { return second(c.Agree(1)) })
	if err != nil {
		return err
	}
	shrink, err := mean(c, timed, warmup, func() error {
		s, err := c.Shrink()
		if err != nil {
			return err
		}
		return s.Close()
	})
	if err != nil {
		return err
	}
	revoke, err := revoked(c)
	if err != nil {
		return err
	}
	detect, after, shrunk, err := killed(c)
	if err != nil || w.Rank() != 0 {
		return err
	}
	if err := w.Handled(w.Size() - 1); err != nil {
		return err
	}
	values := make([]float64, 0, 6)
	for _, d := range []time.Duration{agree, shrink, revoke, detect, after, shrunk} {
		values = append(values, osu.Micros(d))
	}
	return table.Only(0, values...)
}

// second returns its second argument.
func second[T any](_ T, err error) error { return err }

// mean returns the mean time of a call of f at the slowest rank.
func mean(c *runtime.Comm, timed, warmup int, f func() error) (time.Duration, error) {
	var began time.Time
	for i := range warmup + timed {
		if i == warmup {
			if err := collectives.Barrier(c); err != nil {
				return 0, err
			}
			began = time.Now()
		}
		if err := f(); err != nil {
			return 0, err
		}
	}
	return slowest(c, time.Since(began)/time.Duration(timed))
}

// slowest returns the longest of the times of all ranks.
func slowest(c *runtime.Comm, d time.Duration) (time.Duration, error) {
	all := []int64{int64(d)}
	err := collectives.AllReduce(c, all, all, collectives.Max)
	return time.Duration(all[0]), err
}

// revoked returns the median time from the call of Revoke at rank 0 until the receives of all other ranks
// have ended.
func revoked(c *runtime.Comm) (time.Duration, error) {
	times := make([]time.Duration, 0, revocations)
	for range revocations {
		d, err := c.Dup()
		if err != nil {
			return 0, err
		}
		if err := collectives.Barrier(c); err != nil {
			return 0, err
		}
		called := []int64{0}
		if c.Rank() == 0 {
			called[0] = time.Now().UnixNano()
			d.Revoke(nil)
		} else if _, err := runtime.Recv[byte](d, nil, 0, tagNever); !errors.Is(err, runtime.ErrCommBroken) {
			return 0, fmt.Errorf("rank %d received in place of the end: %w", c.Rank(), err)
		}
		ended := time.Now()
		if err := collectives.Bcast(c, called, 0); err != nil {
			return 0, err
		}
		took := ended.Sub(time.Unix(0, called[0]))
		if c.Rank() == 0 {
			took = 0
		}
		if took, err = slowest(c, took); err != nil {
			return 0, err
		}
		times = append(times, took)
		if err := d.Close(); err != nil {
			return 0, err
		}
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// killed kills the last rank, and returns the times that the slowest survivor takes to detect the death, to
// agree and to shrink.
func killed(c *runtime.Comm) (detect, agree, shrink time.Duration, err error) {
	victim := c.Size() - 1
	if err := collectives.Barrier(c); err != nil {
		return 0, 0, 0, err
	}
	death := []int64{time.Now().UnixNano()}
	if c.Rank() == victim {
		for peer := range victim {
			if err := runtime.Send(c, death, peer, tagTime); err != nil {
				return 0, 0, 0, err
			}
		}
		return 0, 0, 0, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if _, err := runtime.Recv(c, death, victim, tagTime); err != nil {
		return 0, 0, 0, err
	}
	_, err = runtime.Recv[byte](c, nil, runtime.AnySource, tagNever)
	if lost, ok := errors.AsType[*runtime.PeerError](err); !ok || lost.Rank != victim {
		return 0, 0, 0, fmt.Errorf("rank %d was not notified of the loss of rank %d: %w", c.Rank(), victim, err)
	}
	detected := time.Now()
	c.Ack()
	if _, err := c.Agree(1); err != nil {
		return 0, 0, 0, err
	}
	agreed := time.Now()
	living, err := c.Shrink()
	if err != nil {
		return 0, 0, 0, err
	}
	took := []int64{detected.UnixNano() - death[0], int64(agreed.Sub(detected)), int64(time.Since(agreed))}
	if err := collectives.AllReduce(living, took, took, collectives.Max); err != nil {
		return 0, 0, 0, err
	}
	return time.Duration(took[0]), time.Duration(took[1]), time.Duration(took[2]), nil
}
