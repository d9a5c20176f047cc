package message_test

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/message/messagetest"
)

// largest is the size of the largest group that is tested with many counts. The sizes up to it
// include powers of two, their neighbors and odd numbers.
const largest = 17

// counts lists numbers of elements: zero, fewer than ranks, not divisible by the number of ranks, and
// many.
var counts = []int{0, 1, 3, 16, 61, 1000}

// wide lists larger groups. In each, a rank has more peers than exchanges in progress. With GORUN_SOAK=1, all
// groups up to 257 ranks are tested.
var wide = []int{34, 64, 100}

// TestOracle compares every algorithm of the catalog with a loop over the ranks.
func TestOracle(t *testing.T) {
	small, counts, wide := largest, counts, wide
	if testing.Short() {
		small, counts, wide = 9, []int{0, 3, 61}, []int{40}
	}
	for _, a := range message.Algorithms() {
		t.Run(a.Operation.String()+"="+a.Name, func(t *testing.T) {
			t.Parallel()
			for ranks := 1; ranks <= small; ranks++ {
				for _, n := range counts {
					agrees(t, &a, messagetest.Cases(&a, ranks, n))
				}
			}
			for ranks := small + 1; ranks <= 257; ranks++ {
				if !slices.Contains(wide, ranks) && os.Getenv("GORUN_SOAK") != "1" {
					continue
				}
				cases := messagetest.Cases(&a, ranks, 3)
				agrees(t, &a, cases[:min(len(cases), 4)])
			}
		})
	}
}

// agrees runs an algorithm as every rank of each case and checks the results.
func agrees(t *testing.T, a *message.Algorithm, cases []messagetest.Case) {
	t.Helper()
	for _, k := range cases {
		run(t, k.Ranks, func(p message.Peer) error {
			call := k.Call(p.Rank())
			if err := a.Run(p, call); err != nil {
				return fmt.Errorf("%v: %w", k, err)
			}
			return k.Check(p.Rank(), call)
		})
	}
}

// TestBarriers checks that no rank leaves a barrier before the last rank has entered it.
func TestBarriers(t *testing.T) {
	for _, a := range message.Algorithms() {
		if a.Operation != message.Barrier {
			continue
		}
		for size := 1; size <= largest; size++ {
			var inside atomic.Int64
			run(t, size, func(p message.Peer) error {
				for round := range int64(3) {
					inside.Add(1)
					if err := a.Run(p, &message.Call{}); err != nil {
						return err
					}
					if got := inside.Load(); got < (round+1)*int64(size) {
						return fmt.Errorf("%s: rank %d left round %d when %d had come", a.Name, p.Rank(), round, got)
					}
				}
				return nil
			})
		}
	}
}

// TestAllReduceSameBitsEverywhere checks that all ranks get the same bits, although rounding
// makes the result depend on the order of the sum (MPICH's coll/allred_float.c).
func TestAllReduceSameBitsEverywhere(t *testing.T) {
	for _, a := range message.Algorithms() {
		if a.Operation != message.AllReduce {
			continue
		}
		for size := 2; size <= largest; size++ {
			k := messagetest.Case{Operation: a.Operation, Ranks: size, Elements: 40, Operator: messagetest.FloatSum}
			if a.Limits&message.PowerOfTwo != 0 && size&(size-1) != 0 {
				continue
			}
			results := make([][]byte, size)
			run(t, size, func(p message.Peer) error {
				call := k.Call(p.Rank())
				results[p.Rank()] = call.Recv
				return a.Run(p, call)
			})
			for _, got := range results {
				require.Equal(t, results[0], got, a.Name)
			}
		}
	}
}

// TestCatalog checks that names are unique within an operation, and that the algorithms of an
// operation follow each other in the catalog.
func TestCatalog(t *testing.T) {
	seen := make(map[string]bool)
	last := message.Operation(0)
	for _, a := range message.Algorithms() {
		name := a.Operation.String() + "=" + a.Name
		require.False(t, seen[name], name)
		require.GreaterOrEqual(t, a.Operation, last, name)
		require.Equal(t, a.Name, message.Find(a.Operation, a.Name).Name)
		seen[name], last = true, a.Operation
		if a.LeftToRight {
			require.True(t, a.Operation.Reduces(), name)
		}
	}
	require.Nil(t, message.Find(message.Barrier, "binomial"))
}

// TestParts checks that blocks lie where their counts and displacements say, and that blocks
// without displacements follow each other.
func TestParts(t *testing.T) {
	buf := make([]byte, 30)
	for _, c := range []struct {
		name            string
		parts           message.Parts
		offsets, counts []int
	}{
		{"equal", message.Equal(10), []int{0, 10, 20}, []int{10, 10, 10}},
		{"empty", message.Parts{}, []int{0, 0, 0}, []int{0, 0, 0}},
		{"in a row", message.Uneven([]int{2, 0, 1}, nil, 8), []int{0, 16, 16}, []int{16, 0, 8}},
		{"anywhere", message.Uneven([]int{1, 0, 2}, []int{4, -5, 0}, 6), []int{24, 0, 0}, []int{6, 0, 12}},
	} {
		t.Run(c.name, func(t *testing.T) {
			longest := 0
			for i := range c.counts {
				require.Equal(t, c.offsets[i], c.parts.Offset(i))
				require.Equal(t, c.counts[i], c.parts.Count(i))
				block := c.parts.Of(buf, i)
				require.Len(t, block, c.counts[i])
				require.Equal(t, len(block), cap(block))
				if len(block) > 0 {
					require.Same(t, &buf[c.offsets[i]], &block[0])
				}
				longest = max(longest, c.counts[i])
			}
			require.Equal(t, longest, c.parts.Longest(3))
		})
	}
}

// TestFailureAtEveryStep fails one message, at every step of every algorithm. The algorithm must
// end with the error of the message at the rank whose message failed.
func TestFailureAtEveryStep(t *testing.T) {
	for _, a := range message.Algorithms() {
		for _, size := range []int{6, 8} {
			cases := messagetest.Cases(&a, size, 12)
			if len(cases) == 0 {
				continue
			}
			k := cases[0]
			k.Root = min(2, size-1)
			t.Run(fmt.Sprintf("%v=%s/%d", a.Operation, a.Name, size), func(t *testing.T) {
				for victim := range size {
					for step := 0; failsAt(t, &a, k, victim, step); step++ {
					}
				}
			})
		}
	}
}

// failsAt makes a step of one rank fail. It reports whether the rank has such a step.
func failsAt(t *testing.T, a *message.Algorithm, k messagetest.Case, victim, step int) bool {
	t.Helper()
	members := group(k.Ranks)
	members[victim].failAfter = step
	var err error
	var once sync.Once
	var wg sync.WaitGroup
	for r, m := range members {
		wg.Go(func() {
			got := a.Run(m, k.Call(r))
			if r == victim {
				err = got
			}
			if got != nil {
				once.Do(func() { close(m.done) })
			}
		})
	}
	wg.Wait()
	if members[victim].failAfter >= 0 {
		require.NoError(t, err)
		return false
	}
	require.ErrorIs(t, err, errInjected)
	return true
}
