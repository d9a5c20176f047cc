package collectives_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// step is one operation of a rank.
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

// Ranks that do not call the same get errors that name both calls and, at one of
// them at least, both source lines; the others learn that the communicator is
// broken, and why. Rank 0 does the odd step after some that are right.
func TestMismatchedCalls(t *testing.T) {
	for _, tc := range []struct {
		name      string
		odd, rest step
		says      []string // of the two calls, in either order
	}{
		{"operations", collectives.Barrier, sumOf(1), []string{"barrier", "allreduce of 8 bytes with Sum of int64"}},
		{"operations, small and large", sumOf(1), sumOf(9000), []string{"of 8 bytes", "of 72000 bytes"}},
		{"large operations", sumOf(9000), allGatherOf(9000), []string{"allreduce of 72000 bytes", "allgather of 72000 bytes"}},
		{"lengths", sumOf(1), sumOf(2), []string{"of 8 bytes", "of 16 bytes"}},
		{"large lengths", sumOf(9000), sumOf(9001), []string{"of 72000 bytes", "of 72008 bytes"}},
		{"lengths of a small broadcast", bcastOf(1, 0), bcastOf(2, 0), []string{"bcast of 8 bytes, root 0", "bcast of 16 bytes, root 0"}},
		{"lengths of a large broadcast", bcastOf(90000, 0), bcastOf(9000, 0), []string{"bcast of 720000 bytes, root 0", "bcast of 72000 bytes, root 0"}},
		{"lengths of blocks", allToAllOf(9000), allToAllOf(8000), []string{"alltoall of", "bytes"}},
		{"roots", bcastOf(1, 1), bcastOf(1, 0), []string{"bcast of 8 bytes, root 1", "bcast of 8 bytes, root 0"}},
		{"roots of a large broadcast", bcastOf(9000, 1), bcastOf(9000, 0), []string{"root 1", "root 0"}},
		{"operators", reduceWith(collectives.Max, 1), sumOf(1), []string{"with Max of int64", "with Sum of int64"}},
		{"large operators", reduceWith(plusInt, 9000), sumOf(9000), []string{"with a Func", "with Sum of int64"}},
		{"element types", floats(1), sumOf(1), []string{"with Sum of float64", "with Sum of int64"}},
		{"gather and allgather", gatherOf(3), allGatherOf(3), []string{"gather of 24 bytes, root 0", "allgather of 24 bytes"}},
	} {
		for _, size := range []int{2, 3, 5} {
			for before := range 3 {
				t.Run(fmt.Sprintf("%s/%d/%d", tc.name, size, before), func(t *testing.T) {
					mismatched(t, size, before, tc.odd, tc.rest, tc.says)
				})
			}
		}
	}
}

var plusInt = collectives.Func(func(a, b int64) int64 { return a + b }, true)

func mismatched(t *testing.T, size, before int, odd, rest step, says []string) {
	t.Helper()
	var mu sync.Mutex
	var found []*collectives.MismatchError
	lines := 0 // errors that name a line
	world(t, size, func(c *runtime.Comm) error {
		d, err := c.Dup()
		if err != nil {
			return err
		}
		for range before {
			if err := errors.Join(sumOf(3)(d), bcastOf(4, 0)(d), collectives.Barrier(d)); err != nil {
				return err
			}
		}
		mine := rest
		if c.Rank() == 0 {
			mine = odd
		}
		err = mine(d)
		for err == nil { // nobody waits for a root: it learns later
			err = collectives.Barrier(d)
		}
		mu.Lock()
		defer mu.Unlock()
		var m *collectives.MismatchError
		switch {
		case errors.As(err, &m):
			found = append(found, m)
		case !errors.Is(err, runtime.ErrCommBroken) || !strings.Contains(err.Error(), "different collective operations"):
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		if strings.Contains(err.Error(), "mismatch_test.go:") {
			lines++
		}
		return nil
	})
	require.NotEmpty(t, found)
	require.Positive(t, lines)
	for _, m := range found {
		require.ErrorIs(t, m, collectives.ErrMismatch)
		require.NotEqual(t, m.Rank, m.Peer)
		require.NotEqual(t, m.Call, m.PeerCall)
		text := m.Error()
		for _, call := range says {
			require.Contains(t, text, call)
		}
	}
	for i, m := range found {
		for _, other := range found[:i] {
			if m.Line != "" && other.Line != "" && m.Rank == other.Peer && m.Peer == other.Rank {
				require.True(t, m.PeerLine != "" || other.PeerLine != "", "one of two knows both lines: %v; %v", m, other)
			}
		}
	}
}
