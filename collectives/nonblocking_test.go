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

// MPICH's coll/iallred.c: outstanding IAllReduce are waited for in any order, beside a
// blocking one. With the two tests below every nonblocking operation there is gives
// the right result (coll/nonblocking2.c).
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
				i := (many - 1 - k + c.Rank()) % many // another order at each rank
				want := fold(size, n, func(r, n int) []float64 { return numbers[float64](r+i, n) }, add)
				if err := errors.Join(waited(requests[i]), equal(c, "iallreduce", results[i], want)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// MPICH's coll/ibarrier.c: a rank waits in a nonblocking barrier while others still
// send to it.
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

// Wait returns the error of wrong arguments, and nothing was sent.
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

// Operations that are under way at the same time do not take each other's messages, not
// even where the later one goes on before the first: rank 2 passes rank 3 what it gets
// from rank 0, which comes last, and sends it something of its own.
func TestOperationsUnderWayDoNotMeet(t *testing.T) {
	for _, blocking := range []bool{false, true} {
		t.Run(fmt.Sprintf("blocking=%v", blocking), func(t *testing.T) {
			world(t, 4, func(w *runtime.Comm) error {
				c, err := dup(w, true)
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

// A nonblocking operation that is given up breaks the communicator for every member.
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
		if err := collectives.Barrier(c); !errors.Is(err, runtime.ErrCommBroken) { // rank 1 does not come
			return fmt.Errorf("barrier of a broken communicator: %w", err)
		}
		return collectives.Barrier(w) // others are not affected
	})
}
