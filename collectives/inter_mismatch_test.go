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

// interStep is an operation on an Intercomm that one rank calls.
type interStep func(s *side) error

func interSum(n int) interStep {
	return func(s *side) error {
		return collectives.InterAllReduce(s.Intercomm, make([]int, n), make([]int, n), collectives.Sum)
	}
}

func interISum(n int) interStep {
	return func(s *side) error {
		return waited(collectives.InterIAllReduce(s.Intercomm, make([]int, n), make([]int, n), collectives.Sum))
	}
}

// interFrom is a broadcast whose root is the given rank of group 0.
func interFrom(root, n int) interStep {
	return func(s *side) error {
		at := root
		if s.group == 0 {
			if at = runtime.ProcNull; s.Rank() == root {
				at = collectives.Root
			}
		}
		return collectives.InterBcast(s.Intercomm, make([]int, n), at)
	}
}

// interGathers is an InterAllGather, interIGathers an InterIAllGather, and interExchange an InterAllToAll. A rank of
// group 0 contributes a block of sizes[0] elements, a rank of group 1 a block of sizes[1].
func interGathers(sizes [2]int) interStep {
	return func(s *side) error {
		return collectives.InterAllGather(s.Intercomm, make([]int, sizes[s.group]), make([]int, s.his*sizes[1-s.group]))
	}
}

func interIGathers(sizes [2]int) interStep {
	return func(s *side) error {
		return waited(collectives.InterIAllGather(s.Intercomm, make([]int, sizes[s.group]), make([]int, s.his*sizes[1-s.group])))
	}
}

func interExchange(sizes [2]int) interStep {
	return func(s *side) error {
		return collectives.InterAllToAll(s.Intercomm, make([]int, s.his*sizes[s.group]), make([]int, s.his*sizes[1-s.group]))
	}
}

func interBarrier(s *side) error { return collectives.InterBarrier(s.Intercomm) }

// interAfterNothing runs a step after a broadcast in which this rank passes ProcNull as the root, and so sends and
// receives nothing.
func interAfterNothing(step interStep) interStep {
	return func(s *side) error {
		if err := collectives.InterBcast(s.Intercomm, []int{1}, runtime.ProcNull); err != nil {
			return err
		}
		return step(s)
	}
}

// If ranks of two groups, or of one group, call different operations, some ranks get a MismatchError that names both
// calls and both source lines. The other ranks get ErrCommBroken with its text. No rank waits for ever.
func TestInterMismatch(t *testing.T) {
	for _, tc := range []struct {
		name string
		// odd is called by the last rank of group 1, or by all ranks of group 1 if group is true.
		// All other ranks call rest.
		group     bool
		odd, rest interStep
		says      []string
	}{
		{"operations of the groups", true, interBarrier, interSum(1), []string{"InterBarrier, call 2", "InterAllReduce, call 2, of 8 bytes with Sum of int64"}},
		{"operations within a group", false, interBarrier, interSum(1), []string{"InterBarrier, call 2", "InterAllReduce, call 2, of 8 bytes with Sum"}},
		{"lengths of the groups", true, interSum(2), interSum(1), []string{"of 8 bytes", "of 16 bytes"}},
		{"lengths within a group", false, interSum(2), interSum(1), []string{"of 8 bytes", "of 16 bytes"}},
		{"long lengths within a group", false, interSum(9001), interSum(9000), []string{"of 72000 bytes", "of 72008 bytes"}},
		{"roots within a group", false, interFrom(1, 3), interFrom(0, 3), []string{"root 1 of the group with the lower first rank", "root 0 of"}},
		{"a root that takes no part", true, interFrom(1, 3), interFrom(0, 3), []string{"root 1 of the group with the lower first rank", "root ProcNull"}},
		{"a root in a barrier", true, interFrom(1, 3), interBarrier, []string{"InterBcast", "InterBarrier"}},
		{"a call that only some skip", false, interBarrier, interAfterNothing(interBarrier), []string{"InterBarrier, call 2", "InterBarrier, call 3"}},
		{"lengths of equal sum within a group", false, interGathers([2]int{1, 3}), interGathers([2]int{3, 1}), []string{"of 32 bytes of int64, lengths with the checksum 0x"}},
		{"lengths of equal sum of the groups", true, interGathers([2]int{1, 3}), interGathers([2]int{3, 1}), []string{"of 32 bytes of int64, lengths with the checksum 0x"}},
		{"exchanged lengths of equal sum", false, interExchange([2]int{1, 3}), interExchange([2]int{3, 1}), []string{"of 32 bytes of int64, lengths with the checksum 0x"}},
		{"nonblocking lengths of equal sum within a group", false, interIGathers([2]int{1, 3}), interIGathers([2]int{3, 1}), []string{"of 32 bytes of int64, lengths with the checksum 0x"}},
		{"nonblocking operations of the groups", true, interISum(2), interISum(1), []string{"of 8 bytes", "of 16 bytes"}},
		{"nonblocking operations within a group", false, interISum(2), interISum(1), []string{"of 8 bytes", "of 16 bytes"}},
	} {
		for _, sizes := range [][2]int{{2, 2}, {3, 2}} {
			for _, transport := range transports {
				silent := strings.HasPrefix(tc.name, "a root") // only a timeout detects these mismatches
				if transport != transports[0] && (sizes[0] == 3 || silent) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%v/%s", tc.name, sizes, transport), func(t *testing.T) {
					if transport == transports[0] {
						t.Parallel() // allowed, because Local uses this transport without an environment variable
					} else {
						t.Setenv("GORUN_TRANSPORT", transport)
					}
					interMismatched(t, sizes, tc.says, func(s *side) error {
						if s.group == 1 && (tc.group || s.Rank() == s.our-1) {
							return tc.odd(s)
						}
						return tc.rest(s)
					})
				})
			}
		}
	}
}

// interMismatched runs a step that is wrong on some rank, and checks the errors of all ranks.
func interMismatched(t *testing.T, sizes [2]int, says []string, wrong interStep) {
	t.Helper()
	var mu sync.Mutex
	var found []*collectives.MismatchError
	require.NoError(t, runtime.Local(sizes[0]+sizes[1], func(w *runtime.World) error {
		s, err := newSide(t, w, sizes)
		if err != nil {
			return err
		}
		if err := interSum(3)(s); err != nil {
			return err
		}
		if err := collectives.Barrier(w.Comm()); err != nil {
			return err
		}
		err = wrong(s)
		for err == nil { // a rank that takes no part in the wrong step gets the error in a later step
			err = collectives.InterBarrier(s.Intercomm)
		}
		mu.Lock()
		defer mu.Unlock()
		if m, ok := errors.AsType[*collectives.MismatchError](err); ok {
			found = append(found, m)
		} else if !errors.Is(err, runtime.ErrCommBroken) || !strings.Contains(err.Error(), "different collective operations") {
			return fmt.Errorf("rank %d: %w", w.Rank(), err)
		}
		return nil
	}))
	require.NotEmpty(t, found)
	for _, m := range found {
		require.ErrorIs(t, m, collectives.ErrMismatch)
		require.NotEqual(t, m.Call, m.PeerCall)
		require.Contains(t, m.Line, "inter_mismatch_test.go:")
		require.Contains(t, m.PeerLine, "inter_mismatch_test.go:")
	}
	require.True(t, slices.ContainsFunc(found, func(m *collectives.MismatchError) bool {
		return !slices.ContainsFunc(says, func(call string) bool { return !strings.Contains(m.Error(), call) })
	}), "%v do not say %v", found, says)
}

// Several nonblocking operations on an Intercomm are in progress together with a blocking operation on
// the Intercomm and a nonblocking operation on the group's own communicator. Ranks of even number start
// the operation on the group's communicator first, the other ranks start it last. All operations give
// right results.
func TestInterOperationsOverlap(t *testing.T) {
	eachInter(t, func(s *side) {
		const many = 6
		var requests []runtime.Request
		results := make([][]int, many)
		local := make([]int, 1)
		own := func() runtime.Request {
			return collectives.IAllReduce(s.Local(), []int{1}, local, collectives.Sum)
		}
		if s.Rank()%2 == 0 {
			requests = append(requests, own())
		}
		for i := range results {
			results[i] = make([]int, 200*s.his)
			requests = append(requests, collectives.InterIAllGather(s.Intercomm, values(s.group, s.Rank(), i, 200), results[i]))
		}
		if s.Rank()%2 == 1 {
			requests = append(requests, own())
		}
		require.NoError(s.t, collectives.InterBarrier(s.Intercomm))
		slices.Reverse(requests)
		require.NoError(s.t, runtime.WaitAll(requests))
		for i, got := range results {
			require.Equal(s.t, s.theirs(i, 200), got)
		}
		require.Equal(s.t, []int{s.our}, local)
	})
}

// If two goroutines of a rank call blocking operations on one Intercomm, the second gets ErrInUse
// with both calls, and the Intercomm is broken.
func TestTwoGoroutinesOnOneIntercomm(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		s, err := newSide(t, w, [2]int{1, 1})
		if err != nil {
			return err
		}
		if w.Rank() == 1 { // does not enter the barrier
			_, err := runtime.Recv(s.Comm, []int(nil), 0, 0)
			require.ErrorIs(t, err, runtime.ErrCommBroken)
			return nil
		}
		other := make(chan error)
		go func() { other <- collectives.InterBarrier(s.Intercomm) }()
		for len(s.Private().AwaitedRanks()) == 0 {
			goruntime.Gosched()
		}
		err = collectives.InterAllReduce(s.Intercomm, []int{1}, []int{0}, collectives.Sum)
		require.ErrorIs(t, err, runtime.ErrInUse)
		require.ErrorContains(t, err, "InterAllReduce")
		require.ErrorContains(t, err, "InterBarrier, call 1 at inter_mismatch_test.go:")
		require.ErrorIs(t, <-other, runtime.ErrCommBroken)
		return nil
	}))
}
