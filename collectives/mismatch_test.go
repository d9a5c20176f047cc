package collectives_test

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// step is a collective operation that one rank calls.
type step func(c *runtime.Comm) error

func sumOf(n int) step {
	return func(c *runtime.Comm) error {
		return collectives.AllReduce(c, make([]int64, n), make([]int64, n), collectives.Sum)
	}
}

func bcastOf(n, root int) step {
	return func(c *runtime.Comm) error { return collectives.Bcast(c, make([]int64, n), root) }
}

func gatherOf(n int) step {
	return func(c *runtime.Comm) error {
		return collectives.Gather(c, make([]int64, n), make([]int64, n*c.Size()), 0)
	}
}

func allGatherOf(n int) step {
	return func(c *runtime.Comm) error {
		return collectives.AllGather(c, make([]int64, n), make([]int64, n*c.Size()))
	}
}

func allToAllOf(n int) step {
	return func(c *runtime.Comm) error {
		return collectives.AllToAll(c, make([]int64, n*c.Size()), make([]int64, n*c.Size()))
	}
}

func reduceWith(op collectives.Op, n int) step {
	return func(c *runtime.Comm) error {
		return collectives.AllReduce(c, make([]int64, n), make([]int64, n), op)
	}
}

func floats(n int) step {
	return func(c *runtime.Comm) error {
		return collectives.AllReduce(c, make([]float64, n), make([]float64, n), collectives.Sum)
	}
}

func floatsFrom(n, root int) step {
	return func(c *runtime.Comm) error { return collectives.Bcast(c, make([]float64, n), root) }
}

func scatterOf(n, root int) step {
	return func(c *runtime.Comm) error {
		return collectives.Scatter(c, make([]int64, n*c.Size()), make([]int64, n), root)
	}
}

func gatherTo(n, root int) step {
	return func(c *runtime.Comm) error {
		return collectives.Gather(c, make([]int64, n), make([]int64, n*c.Size()), root)
	}
}

func reduceTo(n, root int) step {
	return func(c *runtime.Comm) error {
		return collectives.Reduce(c, make([]int64, n), make([]int64, n), collectives.Sum, root)
	}
}

func scanOf(scan func(c *runtime.Comm, send, recv []int64, op collectives.Op) error) step {
	return func(c *runtime.Comm) error { return scan(c, make([]int64, 3), make([]int64, 3), collectives.Sum) }
}

// sharesOf is a ReduceScatter. The count of rank 0 is the argument first, the count of the last
// rank is the argument last, and the counts of the ranks between are 0.
func sharesOf(first, last int) step {
	return func(c *runtime.Comm) error {
		counts := make([]int, c.Size())
		counts[0], counts[c.Size()-1] = first, last
		return collectives.ReduceScatter(c, make([]int64, first+last), make([]int64, counts[c.Rank()]), counts, collectives.Sum)
	}
}

func locatedWith(op collectives.Op) step {
	return func(c *runtime.Comm) error {
		return collectives.AllReduce(c, make([]collectives.Located[int], 2), make([]collectives.Located[int], 2), op)
	}
}

// both runs the second step only if the first succeeds.
func both(first, second step) step {
	return func(c *runtime.Comm) error {
		if err := first(c); err != nil {
			return err
		}
		return second(c)
	}
}

// If ranks call different operations, on one node or between nodes, some ranks get errors that name
// both calls and both source lines. The other ranks get ErrCommBroken, whose cause is one of these
// errors. Rank 0 calls the odd operation, after up to two rounds of operations that match.
func TestMismatchedCalls(t *testing.T) {
	for _, tc := range []struct {
		name      string
		odd, rest step
		says      []string // texts about both calls, in any order
	}{
		{"operations", collectives.Barrier, sumOf(1), []string{"barrier", "allreduce of 8 bytes with Sum of int64"}},
		{"operations, small and large", sumOf(1), sumOf(9000), []string{"of 8 bytes", "of 72000 bytes"}},
		{"large operations", sumOf(9000), allGatherOf(9000), []string{"allreduce of 72000 bytes", "allgather of 72000 bytes"}},
		{"lengths", sumOf(1), sumOf(2), []string{"of 8 bytes", "of 16 bytes"}},
		{"large lengths", sumOf(9000), sumOf(9001), []string{"of 72000 bytes", "of 72008 bytes"}},
		{"lengths of a small broadcast", bcastOf(1, 0), bcastOf(2, 0), []string{"bcast of 8 bytes of int64, root 0", "bcast of 16 bytes of int64, root 0"}},
		{"lengths of a large broadcast", bcastOf(90000, 0), bcastOf(9000, 0), []string{"bcast of 720000 bytes of int64, root 0", "bcast of 72000 bytes of int64, root 0"}},
		{"lengths of blocks", allToAllOf(9000), allToAllOf(8000), []string{"alltoall of", "bytes"}},
		{"roots", bcastOf(1, 1), bcastOf(1, 0), []string{"bcast of 8 bytes of int64, root 1", "bcast of 8 bytes of int64, root 0"}},
		{"roots of a large broadcast", bcastOf(9000, 1), bcastOf(9000, 0), []string{"root 1", "root 0"}},
		{"operators", reduceWith(collectives.Max, 1), sumOf(1), []string{"with Max of int64", "with Sum of int64"}},
		{"large operators", reduceWith(plusInt, 9000), sumOf(9000), []string{"with a Func", "with Sum of int64"}},
		{"element types", floats(1), sumOf(1), []string{"with Sum of float64", "with Sum of int64"}},
		{"element types of a broadcast", floatsFrom(10, 0), bcastOf(10, 0), []string{"bcast of 80 bytes of float64, root 0", "bcast of 80 bytes of int64, root 0"}},
		{"roots of a scatter", scatterOf(10, 1), scatterOf(10, 0), []string{"scatter of 80 bytes of int64, root 1", "scatter of 80 bytes of int64, root 0"}},
		{"roots of a gather", gatherTo(10, 1), gatherTo(10, 0), []string{"gather of 80 bytes of int64, root 1", "gather of 80 bytes of int64, root 0"}},
		{"roots of a reduction", reduceTo(10, 1), reduceTo(10, 0), []string{"root 1", "root 0"}},
		{"gather and scatter", gatherTo(10, 0), scatterOf(10, 0), []string{"gather of 80 bytes", "scatter of 80 bytes"}},
		{"two broadcasts in another order", both(bcastOf(10, 0), bcastOf(10, 1)), both(bcastOf(10, 1), bcastOf(10, 0)), []string{"root 0", "root 1"}},
		{"two broadcasts of other lengths in another order", both(bcastOf(10, 0), bcastOf(11, 0)), both(bcastOf(11, 0), bcastOf(10, 0)), []string{"of 80 bytes", "of 88 bytes"}},
		{"a barrier and a gather", collectives.Barrier, gatherTo(10, 1), []string{"barrier", "gather of 80 bytes"}},
		{"scan and exscan", scanOf(collectives.Scan[int64]), scanOf(collectives.ExScan[int64]), []string{"scan of 24 bytes with Sum of int64", "exscan of 24 bytes with Sum of int64"}},
		{"counts that all know", sharesOf(3, 1), sharesOf(1, 3), []string{"reducescatter of", "counts with the checksum"}},
		{"the operator MinLoc", locatedWith(collectives.MinLoc[int]()), locatedWith(collectives.MaxLoc[int]()), []string{"with MinLoc", "with MaxLoc"}},
		{"gather and allgather", gatherOf(3), allGatherOf(3), []string{"gather of 24 bytes of int64, root 0", "allgather of 24 bytes"}},
	} {
		for _, distant := range []bool{false, true} {
			sizes, befores := []int{2, 3, 5}, []int{0, 1, 2}
			if distant {
				sizes, befores = []int{2, 5}, []int{0, 2} // fewer cases: some mismatches are detected only by a timeout
			}
			for _, size := range sizes {
				for _, before := range befores {
					t.Run(fmt.Sprintf("%s/%d/%d/distant=%v", tc.name, size, before, distant), func(t *testing.T) {
						t.Parallel()
						mismatched(t, size, before, distant, tc.odd, tc.rest, tc.says)
					})
				}
			}
		}
	}
}

var plusInt = collectives.Func(func(a, b int64) int64 { return a + b }, true)

func mismatched(t *testing.T, size, before int, distant bool, odd, rest step, says []string) {
	t.Helper()
	mismatchedAt(t, size, 0, before, distant, odd, rest, false, says)
}

// mismatchedAt runs the odd step at oddRank and rest at the others, checks the errors, and returns
// the rank that each rank blames. If last is true, oddRank makes its call when all others have begun theirs.
func mismatchedAt(t *testing.T, size, oddRank, before int, distant bool, odd, rest step, last bool, says []string) []int {
	t.Helper()
	var mu sync.Mutex
	var comms []*runtime.Comm
	var found []*collectives.MismatchError
	blamed := make([]int, size)
	world(t, size, func(c *runtime.Comm) error {
		d, err := dup(c, distant)
		if err != nil {
			return err
		}
		for range before {
			if err := errors.Join(sumOf(3)(d), bcastOf(4, 0)(d), collectives.Barrier(d)); err != nil {
				return err
			}
		}
		mu.Lock()
		comms = append(comms, d)
		mu.Unlock()
		// Without this Barrier, a rank could still be in the last Barrier on d when another rank
		// breaks d. The Barrier on d would then fail.
		if err := collectives.Barrier(c); err != nil {
			return err
		}
		mine := rest
		if c.Rank() == oddRank {
			mine = odd
			mu.Lock()
			others := slices.Clone(comms)
			mu.Unlock()
			for made := collectives.Calls(d); last && slices.ContainsFunc(others, func(c *runtime.Comm) bool { return c != d && collectives.Calls(c) == made }); {
				goruntime.Gosched()
			}
		}
		err = mine(d)
		for err == nil { // a rank that waits for no message, such as a root, detects the mismatch in a later call
			err = collectives.Barrier(d)
		}
		mu.Lock()
		defer mu.Unlock()
		var blames interface{ FailureOrigin() int }
		if !errors.As(err, &blames) {
			return fmt.Errorf("rank %d: %w blames no rank", c.Rank(), err)
		}
		blamed[c.Rank()] = blames.FailureOrigin()
		var m *collectives.MismatchError
		switch {
		case errors.As(err, &m):
			found = append(found, m)
		case !errors.Is(err, runtime.ErrCommBroken) || !strings.Contains(err.Error(), "different collective operations"):
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		return nil
	})
	require.NotEmpty(t, found)
	for _, m := range found {
		require.ErrorIs(t, m, collectives.ErrMismatch)
		require.NotEqual(t, m.Rank, m.Peer)
		require.NotEqual(t, m.Call, m.PeerCall)
		text := m.Error()
		for _, call := range says {
			require.Contains(t, text, call)
		}
	}
	for _, m := range found {
		require.Contains(t, m.Line, "mismatch_test.go:")
		require.Contains(t, m.PeerLine, "mismatch_test.go:")
	}
	return blamed
}

// If the last call of a rank on a communicator receives no message, the call itself cannot detect a
// mismatch. The mismatch is detected when the communicator or the World is closed.
func TestMismatchIsFoundAtTheEnd(t *testing.T) {
	ibcast := func(n, root int) step {
		return func(c *runtime.Comm) error {
			_, err := collectives.IBcast(c, make([]int64, n), root).Wait()
			return err
		}
	}
	for name, call := range map[string]func(n, root int) step{"bcast": bcastOf, "scatter": scatterOf, "nonblocking bcast": ibcast} {
		for _, distant := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/distant=%v", name, distant), func(t *testing.T) {
				err := runtime.Local(2, func(w *runtime.World) error {
					c := w.Comm()
					if distant {
						if err := collectives.Distant(c); err != nil {
							return err
						}
					}
					return call(10, c.Rank())(c)
				})
				var m *collectives.MismatchError
				require.ErrorAs(t, err, &m)
				require.Equal(t, fmt.Sprintf("%s of 80 bytes of int64, root %d", strings.TrimPrefix(name, "nonblocking "), m.Rank), m.Call)
				require.NotEqual(t, m.Call, m.PeerCall) // PeerCall is unknown if the peer has already left
				require.Contains(t, m.Line, "mismatch_test.go:")
			})
		}
	}
}

// If two goroutines of a rank call operations on one communicator, both get an error that names both
// source lines. The operations of the other ranks get this error, too.
func TestTwoGoroutinesOnOneCommunicator(t *testing.T) {
	for _, distant := range []bool{false, true} {
		t.Run(fmt.Sprintf("distant=%v", distant), func(t *testing.T) {
			world(t, 2, func(w *runtime.Comm) error {
				c, err := dup(w, distant)
				if err != nil {
					return err
				}
				if c.Rank() == 1 {
					if _, err := runtime.Recv(w, []byte(nil), 0, 1); err != nil { // until both goroutines have failed
						return err
					}
					return requireInUse(bcastOf(10, 0)(c))
				}
				under := make(chan error, 1)
				go func() { under <- gatherTo(10, 0)(c) }() // waits for rank 1
				for collectives.Doing(c) == "" {
					goruntime.Gosched()
				}
				if doing := collectives.Doing(c); !strings.HasPrefix(doing, "gather of 80 bytes of int64, root 0, call 1, at mismatch_test.go:") {
					return fmt.Errorf("doing %q", doing)
				}
				second := bcastOf(10, 0)(c)
				first := <-under
				if err := runtime.Send(w, []byte(nil), 1, 1); err != nil {
					return err
				}
				return errors.Join(requireInUse(second), requireInUse(first))
			})
		})
	}
}

// requireInUse returns nil if err is ErrInUse and names two source lines of this file, otherwise an
// error.
func requireInUse(err error) error {
	if err == nil || !strings.Contains(err.Error(), runtime.ErrInUse.Error()) || strings.Count(err.Error(), "mismatch_test.go:") < 2 {
		return fmt.Errorf("not that it is in use: %w", err)
	}
	return nil
}

// A mismatch ends the exchanges of a scattered all-to-all that are in flight, including those in
// which the peer will never take part.
func TestMismatchEndsScatteredExchanges(t *testing.T) {
	overridden := func(s step) step {
		return func(c *runtime.Comm) error {
			if err := collectives.Override(c, "alltoallv=scattered"); err != nil {
				return err
			}
			return s(c)
		}
	}
	scattered := func(n int) step {
		return func(c *runtime.Comm) error {
			counts, displs := make([]int, c.Size()), make([]int, c.Size())
			for i := range counts {
				counts[i], displs[i] = n, n*i
			}
			all := make([]int64, n*c.Size())
			return collectives.AllToAllV(c, all, counts, displs, make([]int64, len(all)), counts, displs)
		}
	}
	for _, n := range []int{1, 90_000} { // eager and rendezvous
		mismatched(t, 5, 1, true, overridden(collectives.Barrier), overridden(scattered(n)), []string{"barrier", "alltoallv"})
		mismatched(t, 3, 1, true, overridden(sumOf(n)), overridden(scattered(n)), []string{"allreduce", "alltoallv"})
	}
}

// With GORUN_COMPARE=0, blocking and nonblocking calls succeed if they differ only in arguments that do
// not change their messages. A value of GORUN_COMPARE that is not a boolean is an error.
func TestMismatchesWithoutAComparison(t *testing.T) {
	t.Setenv("GORUN_COMPARE", "0")
	for _, distant := range []bool{false, true} {
		world(t, 2, func(w *runtime.Comm) error {
			c, err := dup(w, distant)
			if err != nil {
				return err
			}
			op := collectives.Op(collectives.Max)
			if c.Rank() == 0 {
				op = collectives.Sum
			}
			if err := collectives.AllReduce(c, []int64{1}, []int64{0}, op); err != nil {
				return err
			}
			if doing := collectives.Doing(c); doing != "" {
				return fmt.Errorf("doing %q", doing)
			}
			_, err = collectives.IAllReduce(c, []int64{1}, []int64{0}, op).Wait()
			return errors.Join(err, collectives.Barrier(c))
		})
	}
	t.Setenv("GORUN_COMPARE", "maybe")
	require.ErrorContains(t, runtime.Local(1, func(w *runtime.World) error { return collectives.Barrier(w.Comm()) }), "GORUN_COMPARE=maybe is neither true nor false")
}
