package main

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// distance is the condition under which a run counts. The host of a virtual machine may run its two processors on
// cores with a common cache in one second, and on cores without one in the next second. All messages then take
// about twice as long. If the distance changes between the runs of two systems, their figures cannot be compared.
type distance struct {
	limit time.Duration // the longest round trip of a cache line with which a run counts; 0 if all runs count
	probe func() (time.Duration, error)
	pause time.Duration // between two probes while the processors are too far apart
}

// distanceTries bounds the runs of one measurement of which one must count, and distancePauses the probes that
// await the next run.
const (
	distanceTries  = 8
	distancePauses = 600
)

var errFar = errors.New("the processors have no common cache")

// newDistance returns the condition that a cache line takes at most the time limit between the first two
// processors and back.
func newDistance(limit time.Duration) *distance {
	return &distance{limit: limit, probe: roundTrip, pause: 200 * time.Millisecond}
}

// during calls run until the processors were near before and after the call, or until run returns true, because the
// run is over whatever the distance was. It returns errFar, or the error of a probe or of the context.
func (d *distance) during(ctx context.Context, run func() (over bool)) error {
	if d.limit == 0 {
		run()
		return nil
	}
	for range distanceTries {
		if err := d.await(ctx); err != nil {
			return err
		}
		if run() {
			return nil
		}
		if near, err := d.near(); near || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w during %d runs", errFar, distanceTries)
}

// await waits until the processors are near.
func (d *distance) await(ctx context.Context) error {
	for range distancePauses {
		near, err := d.near()
		if near || err != nil {
			return err
		}
		select { // nothing reports that the host has moved a processor
		case <-time.After(d.pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("%w for %v", errFar, distancePauses*d.pause)
}

// near reports whether the processors are near.
func (d *distance) near() (bool, error) {
	took, err := d.probe()
	return took <= d.limit, err
}

// text describes the condition. It returns "" if all runs count.
func (d *distance) text() string {
	if d.limit == 0 {
		return ""
	}
	return fmt.Sprintf("while a cache line took at most %v from one processor to the other and back", d.limit)
}

// The number of round trips in a series, and of series. The shortest series counts, because a thread may be
// interrupted.
const (
	trips  = 500
	series = 8
)

// roundTrip returns the time in which a cache line goes from the first processor that this program may use to the
// second one and back.
func roundTrip() (time.Duration, error) {
	cpus, err := twoProcessors()
	if err != nil {
		return 0, err
	}
	var line struct {
		_    [64]byte
		turn atomic.Uint32 // odd if the second processor has to answer
		_    [64]byte
	}
	await := func(turn uint32) {
		for line.turn.Load() != turn {
		}
	}
	shortest := time.Hour
	err = together(cpus, func() {
		for s := range uint32(series) {
			from := time.Now()
			for i := s * trips; i < (s+1)*trips; i++ {
				line.turn.Store(2*i + 1)
				await(2*i + 2)
			}
			shortest = min(shortest, time.Since(from)/trips)
		}
	}, func() {
		for i := range uint32(series * trips) {
			await(2*i + 1)
			line.turn.Store(2*i + 2)
		}
	})
	return shortest, err
}

// together calls both functions at the same time, each on its processor. If a thread cannot be bound to its
// processor, together calls none.
func together(cpus [2]int, functions ...func()) error {
	bound, begin := make(chan error), make(chan bool)
	var ended sync.WaitGroup
	for i, f := range functions {
		ended.Go(func() {
			goruntime.LockOSThread() // until the goroutine ends, which ends the thread
			var set unix.CPUSet
			set.Set(cpus[i])
			bound <- unix.SchedSetaffinity(0, &set)
			if <-begin {
				f()
			}
		})
	}
	var err error
	for range functions {
		err = errors.Join(err, <-bound)
	}
	for range functions {
		begin <- err == nil
	}
	ended.Wait()
	return err
}

// twoProcessors returns the numbers of the first two processors that this program may use.
func twoProcessors() (cpus [2]int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return cpus, err
	}
	found := 0
	for cpu := 0; found < 2 && cpu < len(set)*64; cpu++ {
		if set.IsSet(cpu) {
			cpus[found] = cpu
			found++
		}
	}
	if found < 2 || goruntime.GOMAXPROCS(0) < 2 {
		return cpus, errors.New("-near needs two processors")
	}
	return cpus, nil
}
