package distance

import (
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

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

// Check returns an error if the distance cannot be measured, for example because this program may use only one
// processor.
func Check() error {
	_, err := twoProcessors()
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
		return cpus, errors.New("the latency between two processors can be measured only if the program may use two")
	}
	return cpus, nil
}
