package main

import (
	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// races contains programs whose result depends on which rank or goroutine is faster (message race,
// global concurrency).
var races = []program{
	{name: "two goroutines in one communicator's collectives", finds: `communicator is in use`, run: func(c *runtime.Comm) error {
		ended := make(chan error, 2)
		for range 2 {
			go func() {
				for range 100_000 { // so many that the loop takes longer than a goroutine's time slice
					if err := collectives.Barrier(c); err != nil {
						ended <- err
						return
					}
				}
				ended <- nil
			}()
		}
		for range 2 {
			if err := <-ended; err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "first of two messages decides", ranks: 3, finds: `could have matched`, run: func(c *runtime.Comm) error {
		if c.Rank() > 0 {
			return sendBeforeBarrier(c, []int{c.Rank()})
		}
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		first, second := room(1), room(1)
		if _, err := runtime.Recv(c, first, runtime.AnySource, 7); err != nil {
			return err
		}
		return failure(runtime.Recv(c, second, runtime.AnySource, 7))
	}},
	{name: "any rank first, then one by name", ranks: 3, finds: `could have matched`, run: func(c *runtime.Comm) error {
		if c.Rank() > 0 {
			return sendBeforeBarrier(c, []int{c.Rank()})
		}
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		if _, err := runtime.Recv(c, room(1), runtime.AnySource, 7); err != nil {
			return err
		}
		return failure(runtime.Recv(c, room(1), 2, 7))
	}},
	{name: "types of two senders differ", ranks: 3, finds: `could have matched`, run: func(c *runtime.Comm) error {
		switch c.Rank() {
		case 1:
			return sendBeforeBarrier(c, one())
		case 2:
			return sendBeforeBarrier(c, []float64{1})
		}
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		if _, err := runtime.Recv(c, room(1), runtime.AnySource, 7); err != nil {
			return err
		}
		return failure(runtime.Recv(c, make([]float64, 1), runtime.AnySource, 7))
	}},
}

// sendBeforeBarrier sends elements to rank 0. The send is posted when rank 0 leaves its barrier.
func sendBeforeBarrier[T any](c *runtime.Comm, elements []T) error {
	r := runtime.Isend(c, elements, 0, 7)
	if err := collectives.Barrier(c); err != nil {
		return err
	}
	return failure(r.Wait())
}
