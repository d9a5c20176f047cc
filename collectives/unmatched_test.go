package collectives_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// unmatched runs step at every rank of a new communicator, once with members on one node, and once with members that
// communicate as if they were on different nodes. It requires that the error of the job contains the text of a
// MismatchError. Only the member that finds the difference has the MismatchError itself.
func unmatched(t *testing.T, size int, step func(c *runtime.Comm) error) {
	t.Helper()
	for _, distant := range []bool{false, true} {
		t.Run(fmt.Sprintf("distant %v", distant), func(t *testing.T) {
			err := runtime.Local(size, func(w *runtime.World) error {
				c, err := dup(w.Comm(), distant)
				if err != nil {
					return err
				}
				if err := step(c); err != nil {
					return err
				}
				// A member that has closed c would not answer questions about its calls.
				return errors.Join(collectives.Barrier(w.Comm()), c.Close())
			})
			require.ErrorContains(t, err, "ranks call different collective operations: ")
		})
	}
}

// If one member calls an operation with no element, and the others call it with elements, the calls do not match. The
// calls of the others do not match a later call of that member, either.
func TestNoElementsAtOneMember(t *testing.T) {
	unmatched(t, 3, func(c *runtime.Comm) error {
		b, errs := make([]int, 4), []error{}
		for i := range b {
			n := 1
			if i == 0 && c.Rank() == 2 {
				n = 0
			}
			errs = append(errs, collectives.Bcast(c, b[i:i+n], 0))
		}
		return errors.Join(errs...)
	})
	unmatched(t, 2, func(c *runtime.Comm) error {
		n := 1 - c.Rank()
		err := collectives.AllReduce(c, make([]int, n), make([]int, n), collectives.Sum)
		if c.Rank() == 1 && err == nil { // rank 0 waits for the contribution, this rank for a message
			_, err = runtime.Recv(c, make([]int, 1), 0, 0)
		}
		return err
	})
}

// Nonblocking operations that do not match end with an error, even if no message arrives: both members wait for the
// contribution of the other.
func TestUnmatchedNonblockingOperations(t *testing.T) {
	unmatched(t, 2, func(c *runtime.Comm) error {
		return waited(collectives.IGather(c, make([]int, 1), make([]int, 2), c.Rank()))
	})
}

// A commutative Func does not match a noncommutative Func, because the algorithm depends on this property.
func TestFuncsOfTwoKinds(t *testing.T) {
	for _, n := range []int{1, 20000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			unmatched(t, 5, func(c *runtime.Comm) error {
				op := collectives.Func(func(a, b int64) int64 { return a + b }, c.Rank() == 0)
				return waited(collectives.IReduce(c, make([]int64, n), make([]int64, n), op, 4))
			})
		})
	}
}

// ReduceValue is compared like other blocking operations: a call with another root, or a call of another operation,
// does not match.
func TestUnmatchedReduceValue(t *testing.T) {
	sum := func(a, b int) int { return a + b }
	unmatched(t, 2, func(c *runtime.Comm) error {
		_, err := collectives.ReduceValue(c, 1, sum, c.Rank())
		return err
	})
	unmatched(t, 2, func(c *runtime.Comm) error {
		if c.Rank() == 1 {
			return collectives.Barrier(c)
		}
		_, err := collectives.ReduceValue(c, 1, sum, 0)
		return err
	})
}

// If a function of the user panics in an operation and the program continues, the communicator is broken, and the
// other members do not wait for ever.
func TestOperatorsThatPanic(t *testing.T) {
	fails := func(int, int) int { panic("division by zero") }
	for name, step := range map[string]func(c *runtime.Comm) error{
		"AllReduce": func(c *runtime.Comm) error {
			return collectives.AllReduce(c, []int{1}, []int{0}, collectives.Func(fails, true))
		},
		"ordered": func(c *runtime.Comm) error {
			return collectives.AllReduce(c, []int{1}, []int{0}, collectives.Func(fails, false))
		},
		"AllReduceValue": func(c *runtime.Comm) error {
			_, err := collectives.AllReduceValue(c, 1, fails)
			return err
		},
	} {
		for _, distant := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, distant %v", name, distant), func(t *testing.T) {
				require.NoError(t, runtime.Local(3, func(w *runtime.World) error {
					c, err := dup(w.Comm(), distant)
					if err != nil {
						return err
					}
					func() {
						defer func() { _ = recover() }()
						_ = step(c) // a panic at some members, an error at the others
					}()
					if err := collectives.Barrier(c); !errors.Is(err, runtime.ErrCommBroken) {
						return fmt.Errorf("not broken: %w", err)
					}
					return nil
				}))
			})
		}
	}
}

// If the operator of a blocking operation on an Intercomm panics and the program continues, the Intercomm is broken for
// both groups, and is not in use.
func TestInterOperatorsThatPanic(t *testing.T) {
	fails := collectives.Func(func(int, int) int { panic("division by zero") }, true)
	require.NoError(t, runtime.Local(3, func(w *runtime.World) error {
		s, err := newSide(t, w, [2]int{2, 1})
		if err != nil {
			return err
		}
		root := 0
		if s.group == 1 {
			root = collectives.Root
		}
		func() {
			defer func() { _ = recover() }()
			_ = collectives.InterReduce(s.Intercomm, []int{1}, []int{0}, fails, root) // a panic at one rank
		}()
		if err := collectives.InterBarrier(s.Intercomm); !errors.Is(err, runtime.ErrCommBroken) || errors.Is(err, runtime.ErrInUse) {
			return fmt.Errorf("not broken: %w", err)
		}
		return nil
	}))
}
