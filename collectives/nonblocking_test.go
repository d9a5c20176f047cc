package collectives_test

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

func waited(r runtime.Request) error {
	_, err := r.Wait()
	return err
}

// Several IAllReduce in flight can be waited for in any order, and a blocking AllReduce can run
// meanwhile (MPICH's coll/iallred.c).
func TestOutstandingIAllReduce(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		world(t, size, func(c *runtime.Comm) error {
			const n, many = 1000, 6
			results := make([][]float64, many)
			requests := make([]runtime.Request, many)
			for i := range requests {
				results[i] = make([]float64, n)
				requests[i] = collectives.IAllReduce(c, numbers[float64](c.Rank()+i, n), results[i], collectives.Sum)
			}
			blocking := make([]int, 1)
			if err := collectives.AllReduce(c, []int{1}, blocking, collectives.Sum); err != nil {
				return err
			}
			if blocking[0] != size {
				return fmt.Errorf("blocking allreduce is %d", blocking[0])
			}
			for k := range requests {
				i := (many - 1 - k + c.Rank()) % many // a different order at each rank
				want := fold(size, n, func(r, n int) []float64 { return numbers[float64](r+i, n) }, add)
				if err := errors.Join(waited(requests[i]), equal(c, "iallreduce", results[i], want)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// A rank that is in a nonblocking barrier still receives messages of the others. In the test the
// barrier completes only after all of these messages have been received (MPICH's coll/ibarrier.c).
func TestIBarrierWhileMessagesFly(t *testing.T) {
	world(t, 4, func(c *runtime.Comm) error {
		for round := range 5 {
			next := (c.Rank() + 1) % c.Size()
			sent := runtime.Issend(c, []int{round}, next, round)
			var barrier runtime.Request
			seen := 0
			for {
				if st, ok, err := runtime.Iprobe(c, runtime.AnySource, round); err != nil {
					return err
				} else if ok {
					if _, err := runtime.Recv(c, make([]int, 1), st.Source, round); err != nil {
						return err
					}
					seen++
				}
				if barrier == (runtime.Request{}) {
					if _, done, err := sent.Test(); err != nil {
						return err
					} else if done {
						barrier = collectives.IBarrier(c)
					}
				} else if _, done, err := barrier.Test(); err != nil {
					return err
				} else if done {
					break
				}
			}
			if seen != 1 {
				return fmt.Errorf("rank %d saw %d messages before the barrier's end", c.Rank(), seen)
			}
		}
		return nil
	})
}

// IBcast from every root gives every rank the contents of the root's buffer, even if the buffer has no
// elements.
func TestIBcast(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		world(t, size, func(c *runtime.Comm) error {
			for _, n := range []int{0, 1, 100_000} {
				for root := range size {
					buf := make([]int64, n)
					if c.Rank() == root {
						buf = numbers[int64](root, n)
					}
					if err := errors.Join(waited(collectives.IBcast(c, buf, root)), equal(c, "ibcast", buf, numbers[int64](root, n))); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}

// Wait returns the error of wrong arguments, and nothing is sent, so that a later barrier succeeds.
func TestNonblockingRefusals(t *testing.T) {
	world(t, 2, func(c *runtime.Comm) error {
		for _, err := range []error{
			waited(collectives.IBcast(c, []int{1}, 2)),
			waited(collectives.IBcast(c, []*int{nil}, 0)),
			waited(collectives.IAllReduce(c, []int{1}, []int{1, 2}, collectives.Sum)),
			waited(collectives.IAllReduce(c, []*int{nil}, []*int{nil}, collectives.Sum)),
		} {
			if err == nil {
				return errors.New("not refused")
			}
		}
		return waited(collectives.IBarrier(c))
	})
}

// Operations in flight at the same time on one communicator do not receive each other's messages, even
// if the later operation completes first. Along a binomial tree, rank 3 gets the first broadcast from
// rank 0 through rank 2. Rank 0 starts the first broadcast only after rank 3 has received the second
// broadcast, whose root is rank 2.
func TestOperationsUnderWayDoNotMeet(t *testing.T) {
	for _, blocking := range []bool{false, true} {
		t.Run(fmt.Sprintf("blocking=%v", blocking), func(t *testing.T) {
			world(t, 4, func(w *runtime.Comm) error {
				c, err := dup(w, true)
				if err == nil {
					err = collectives.Override(c, "bcast=binomial")
				}
				if err != nil {
					return err
				}
				if w.Rank() == 0 {
					if _, err := runtime.Recv(w, []byte(nil), 3, 1); err != nil {
						return err
					}
				}
				first, second := make([]int, 1), make([]int, 1)
				switch w.Rank() {
				case 0:
					first[0] = 11
				case 2:
					second[0] = 22
				}
				request := collectives.IBcast(c, first, 0)
				for w.Rank() == 3 && !slices.Contains(c.Private().AwaitedRanks(), 2) {
					goruntime.Gosched()
				}
				if blocking {
					err = collectives.Bcast(c, second, 2)
				} else {
					err = waited(collectives.IBcast(c, second, 2))
				}
				if err == nil && w.Rank() == 3 {
					err = runtime.Send(w, []byte(nil), 0, 1)
				}
				return errors.Join(err, waited(request), equal(w, "first", first, []int{11}), equal(w, "second", second, []int{22}))
			})
		})
	}
}

// Cancel of a nonblocking operation breaks the communicator for every member.
func TestCancelOfANonblockingOperationBreaksTheCommunicator(t *testing.T) {
	world(t, 3, func(w *runtime.Comm) error {
		c, err := w.Dup()
		if err != nil {
			return err
		}
		if c.Rank() == 1 {
			request := collectives.IBarrier(c)
			request.Cancel()
			if err := waited(request); !errors.Is(err, runtime.ErrCanceled) {
				return fmt.Errorf("barrier that was cancelled: %w", err)
			}
			if err := c.Err(); !errors.Is(err, runtime.ErrCommBroken) {
				return fmt.Errorf("communicator of a cancelled barrier: %w", err)
			}
			return collectives.Barrier(w)
		}
		if err := collectives.Barrier(c); !errors.Is(err, runtime.ErrCommBroken) { // rank 1 does not enter the barrier
			return fmt.Errorf("barrier of a broken communicator: %w", err)
		}
		return collectives.Barrier(w) // other communicators are not affected
	})
}

// The first blocking AllToAll of long blocks determines whether members can read each other's
// memory. Nonblocking operations are in progress meanwhile, and the race detector checks that there is no
// data race.
func TestUnreadableMemoryIsFoundBesideNonblocking(t *testing.T) {
	t.Setenv("GORUN_CMA", "0")
	world(t, 2, func(c *runtime.Comm) error {
		requests := make([]runtime.Request, 0, 4)
		for range cap(requests) {
			requests = append(requests, collectives.IBarrier(c))
		}
		send, recv := make([]float64, 2*long), make([]float64, 2*long)
		err := collectives.AllToAll(c, send, recv)
		for _, r := range requests {
			err = errors.Join(err, waited(r))
		}
		return err
	})
}

// Nonblocking reductions of elements of size 0 succeed, with and without GORUN_REPRODUCIBLE.
func TestNonblockingOfElementsWithoutSize(t *testing.T) {
	for _, fixed := range []string{"", "1"} {
		t.Setenv("GORUN_REPRODUCIBLE", fixed)
		testElementsWithoutSize(t)
	}
}

func testElementsWithoutSize(t *testing.T) {
	t.Helper()
	first := collectives.Func(func(a, _ struct{}) struct{} { return a }, true)
	world(t, 3, func(c *runtime.Comm) error {
		v := make([]struct{}, 2)
		return errors.Join(
			waited(collectives.IAllReduce(c, v, v, first)), waited(collectives.IReduce(c, v, v, first, 1)),
			waited(collectives.IScan(c, v, v, first)), waited(collectives.IExScan(c, v, v, first)),
			waited(collectives.IReduceScatterBlock(c, make([]struct{}, 3), make([]struct{}, 1), first)),
			collectives.AllReduce(c, v, v, first))
	})
}

// Each start of a persistent AllToAll in place sends what the buffer contains at that time, also if the algorithm sends
// from a copy of the buffer.
func TestPersistentInPlace(t *testing.T) {
	const n, size = 300, 3 // blocks so long that the algorithm needs two buffers
	world(t, size, func(c *runtime.Comm) error {
		buf := make([]int, n*size)
		p := collectives.AllToAllInit(c, buf, buf)
		defer p.Close()
		for round := range 3 {
			for i := range buf {
				buf[i] = 100*round + 10*c.Rank() + i/n
			}
			if err := p.Start(); err != nil {
				return err
			}
			if _, err := p.Wait(); err != nil {
				return err
			}
			for i, got := range buf {
				if want := 100*round + 10*(i/n) + c.Rank(); got != want {
					return fmt.Errorf("round %d: element %d is %d, not %d", round, i, got, want)
				}
			}
		}
		return nil
	})
}
