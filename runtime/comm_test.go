package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// ring requires that the members of c are the given world ranks, and sends every member's world
// rank to every other member.
func ring(t *testing.T, c *runtime.Comm, members []int) {
	t.Helper()
	n := c.Size()
	require.Equal(t, members, c.Group().Ranks())
	require.Equal(t, members[c.Rank()], c.World().Rank())
	for shift := range n {
		to, from := (c.Rank()+shift)%n, (c.Rank()+n-shift)%n
		got := make([]int, 1)
		s, err := runtime.SendRecv(c, []int{c.World().Rank()}, to, shift, got, runtime.AnySource, shift)
		require.NoError(t, err)
		require.Equal(t, from, s.Source)
		require.Equal(t, members[from], got[0])
		require.Equal(t, members[from], c.WorldRank(from))
	}
	require.Equal(t, runtime.Undefined, c.WorldRank(n))
}

func numbers(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// Split with Undefined returns no communicator (MPICH's comm/cmsplit.c).
func TestSplitUndefined(t *testing.T) {
	local(t, 5, func(c *runtime.Comm) {
		color := 0
		if c.Rank()%2 == 1 {
			color = runtime.Undefined
		}
		sub, err := c.Split(color, 0)
		require.NoError(t, err)
		if c.Rank()%2 == 1 {
			require.Nil(t, sub)
			return
		}
		ring(t, sub, []int{0, 2, 4})
		require.NoError(t, sub.Close())
	})
}

// Split keeps the order of the old ranks if keys are equal, and otherwise orders by key, with 1 to
// 9 ranks (MPICH's comm/cmsplit2.c).
func TestSplitIsStable(t *testing.T) {
	for n := 1; n <= 9; n++ {
		local(t, n, func(c *runtime.Comm) {
			same, err := c.Split(3, 7)
			require.NoError(t, err)
			ring(t, same, numbers(n))
			back, err := c.Split(0, -c.Rank())
			require.NoError(t, err)
			want := numbers(n)
			slices.Reverse(want)
			ring(t, back, want)
			// A second Split, where ranks are not World ranks.
			pair, err := back.Split(back.Rank()/2, 0)
			require.NoError(t, err)
			first := back.Rank() / 2 * 2
			ring(t, pair, want[first:min(n, first+2)])
			require.Equal(t, fmt.Sprintf("world.split(0).split(%d)", back.Rank()/2), pair.Name())
		})
	}
}

// A duplicate has the same group, and its messages are separate from the messages of the original
// (MPICH's comm/dup.c). The messages of private views are also separate.
func TestDupHasMessagesOfItsOwn(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		dup, err := c.Dup()
		require.NoError(t, err)
		require.Equal(t, runtime.Identical, dup.Group().Compare(c.Group()))
		again, err := dup.Dup()
		require.NoError(t, err)
		comms := []*runtime.Comm{c, dup, again, c.Private(), dup.Private(), again.Private()}
		if c.Rank() == 0 {
			for i, comm := range comms {
				require.NoError(t, runtime.Send(comm, []int{i}, 1, 0))
			}
			return
		}
		for i, comm := range slices.Backward(comms) {
			got := make([]int, 1)
			_, err := runtime.Recv(comm, got, runtime.AnySource, runtime.AnyTag)
			require.NoError(t, err)
			require.Equal(t, i, got[0])
			_, found, err := runtime.Iprobe(comm, runtime.AnySource, runtime.AnyTag)
			require.NoError(t, err)
			require.False(t, found)
		}
	})
}

// Create is called by the members of the new group only (MPICH's comm/comm_create_group.c and
// comm/comm_group_half.c), with even, odd, reversed and nested groups (comm/commcreate1.c).
func TestCreateOfSubsets(t *testing.T) {
	const n = 7
	local(t, n, func(c *runtime.Comm) {
		world := c.Group()
		even, err := world.Include(0, 2, 4, 6)
		require.NoError(t, err)
		odd, err := world.Exclude(0, 2, 4, 6)
		require.NoError(t, err)
		half := odd
		if c.Rank()%2 == 0 {
			half = even
		}
		sub, err := c.Create(half, 0)
		require.NoError(t, err)
		ring(t, sub, half.Ranks())
		back := numbers(n)
		slices.Reverse(back)
		reverse, err := world.Include(back...)
		require.NoError(t, err)
		all, err := c.Create(reverse, 1)
		require.NoError(t, err)
		ring(t, all, back)
		if c.Rank() < 3 {
			three, err := world.Include(2, 0, 1)
			require.NoError(t, err)
			sub, err := all.Create(three, 2)
			require.NoError(t, err)
			ring(t, sub, []int{2, 0, 1})
		}
		other, err := world.Include(0, 1)
		require.NoError(t, err)
		if c.Rank() == 0 {
			_, err = sub.Create(other, 0)
			require.ErrorIs(t, err, runtime.ErrRank, "rank 1 is not in the even ones")
		}
	})
}

// Create makes communicators of random groups, and refuses callers that are not members (MPICH's
// comm/comm_group_rand.c).
func TestCreateOfRandomSubsets(t *testing.T) {
	const n, rounds = 6, 40
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	local(t, n, func(c *runtime.Comm) {
		same := rand.New(rand.NewPCG(seed, 0)) // the same random numbers at every rank
		for round := range rounds {
			chosen := same.Perm(n)[:1+same.IntN(n)]
			group, err := c.Group().Include(chosen...)
			require.NoError(t, err)
			if !slices.Contains(chosen, c.Rank()) {
				_, err = c.Create(group, round)
				require.ErrorIs(t, err, runtime.ErrRank)
				continue
			}
			sub, err := c.Create(group, round)
			require.NoError(t, err)
			ring(t, sub, chosen)
			require.NoError(t, sub.Close())
		}
	})
}

// Goroutines of the same ranks create communicators at the same time from parents with the same
// members. No message reaches another communicator.
func TestCommunicatorsMadeAtTheSameTime(t *testing.T) {
	const ranks, parents, rounds = 4, 5, 10
	local(t, ranks, func(c *runtime.Comm) {
		comms := make([]*runtime.Comm, parents)
		for i := range comms {
			var err error
			comms[i], err = c.Split(0, (c.Rank()+i)%ranks)
			require.NoError(t, err)
		}
		var all sync.WaitGroup
		errs := make([]error, parents)
		for i, parent := range comms {
			all.Go(func() { errs[i] = churn(parent, i, rounds) })
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
	})
}

// churn repeatedly creates a communicator, exchanges a message in it, and closes it.
func churn(parent *runtime.Comm, seed, rounds int) error {
	for round := range rounds {
		c, err := parent.Dup()
		if err != nil {
			return err
		}
		n := c.Size()
		got := make([]int, 2)
		_, err = runtime.SendRecv(c, []int{seed, round}, (c.Rank()+1)%n, 0, got, (c.Rank()+n-1)%n, 0)
		if err != nil {
			return err
		}
		if got[0] != seed || got[1] != round {
			return fmt.Errorf("communicator %d of round %d received %v", seed, round, got)
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// A communicator that was created through a view with a context.Context remains usable after the end
// of this context.Context.
func TestDupOfAViewOutlivesItsContext(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		ctx, cancel := context.WithCancel(t.Context())
		view := c.WithContext(ctx)
		dup, err := view.Dup()
		require.NoError(t, err)
		split, err := view.Split(0, 0)
		require.NoError(t, err)
		created, err := view.Create(c.Group(), 0)
		require.NoError(t, err)
		cancel()
		for _, made := range []*runtime.Comm{dup, split, created} {
			require.NoError(t, made.Context().Err())
			_, err := runtime.SendRecv(made, []int{1}, 1-c.Rank(), 0, make([]int, 1), 1-c.Rank(), 0)
			require.NoError(t, err)
		}
	})
}

// If several goroutines of a rank create communicators from one parent at the same time, all get
// ErrInUse with source lines, and other ranks get ErrCommBroken.
func TestConcurrentDups(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		parent, err := c.Dup()
		require.NoError(t, err)
		if c.Rank() == 1 {
			_, err := runtime.Recv[int](c, nil, 0, 0)
			require.NoError(t, err)
			_, err = parent.Dup()
			require.ErrorIs(t, err, runtime.ErrCommBroken)
			return
		}
		const goroutines = 4
		errs := make(chan error, goroutines)
		for range goroutines {
			go func() {
				_, err := parent.Dup() // waits for rank 1
				errs <- err
			}()
		}
		for range goroutines {
			err := <-errs
			require.ErrorIs(t, err, runtime.ErrInUse)
			require.Contains(t, err.Error(), "comm_test.go:")
		}
		require.NoError(t, runtime.Send[int](c, nil, 1, 0))
	})
}

// Each view of a communicator has one private view with the same context.Context. The messages of the
// private view are separate.
func TestPrivateTwin(t *testing.T) {
	local(t, 1, func(c *runtime.Comm) {
		require.Same(t, c.Private(), c.Private())
		require.Same(t, c.Private(), c.Private().Private())
		require.NotSame(t, c, c.Private())
		view := c.WithContext(t.Context())
		require.Same(t, view.Private(), view.Private())
		require.Equal(t, t.Context(), view.Private().Context())
		require.Equal(t, t.Context(), c.Private().WithContext(t.Context()).Context())
		require.NoError(t, runtime.Send(view.Private(), []int{1}, 0, 0))
		_, found, err := runtime.Iprobe(c, 0, 0)
		require.NoError(t, err)
		require.False(t, found)
		_, found, err = runtime.Iprobe(c.Private(), 0, 0)
		require.NoError(t, err)
		require.True(t, found)
	})
}

// After Break, operations of all members end with an error that has ErrCommBroken, the rank that
// broke the communicator, and the cause. The parent communicator remains usable.
func TestBreakReachesEveryMember(t *testing.T) {
	gone := errors.New("gone")
	local(t, 4, func(c *runtime.Comm) {
		// sub contains ranks 1 to 3 in reverse order, so that its ranks are not World ranks.
		sub, err := c.Split(min(c.Rank(), 1), -c.Rank())
		require.NoError(t, err)
		if c.Rank() == 0 {
			return
		}
		if c.Rank() == 2 {
			sub.Break(gone)
			sub.Break(errors.New("later"))
			require.ErrorIs(t, sub.Err(), gone)
		}
		for name, call := range map[string]func() error{
			"Recv":           func() error { return second(runtime.Recv(sub, make([]int, 1), 0, 0)) },
			"private Recv":   func() error { return second(runtime.Recv(sub.Private(), make([]int, 1), 1, 0)) },
			"Ssend":          func() error { return runtime.Ssend(sub, []int{1}, (sub.Rank()+1)%3, 0) },
			"Dup":            func() error { return second(sub.Dup()) },
			"posted receive": func() error { return runtime.WaitAll([]runtime.Request{runtime.Irecv(sub, make([]int, 1), 0, 0)}) },
		} {
			err := call()
			require.ErrorIs(t, err, runtime.ErrCommBroken, name)
			var broken *runtime.BrokenError
			require.ErrorAs(t, err, &broken, name)
			require.Equal(t, 1, broken.Rank, name)
			require.EqualError(t, broken.Cause, "gone", name)
			require.Equal(t, "world.split(1)", broken.Comm)
		}
		// The parent of sub still works.
		got := make([]int, 1)
		peer := 1 + c.Rank()%3
		_, err = runtime.SendRecv(c, []int{c.Rank()}, peer, 0, got, runtime.AnySource, 0)
		require.NoError(t, err)
		require.NoError(t, sub.Close())
	})
}

// If one member abandons a collective call, the call ends with ErrCommBroken at the other members. A member that
// begins a collective call on the communicator later gets ErrCommBroken, too.
func TestCanceledDupBreaksTheCommunicator(t *testing.T) {
	local(t, 3, func(c *runtime.Comm) {
		dup, err := c.Dup()
		require.NoError(t, err)
		if c.Rank() == 2 { // rank 2 takes no part until the others have failed
			_, err := runtime.Recv[int](c, nil, 0, 0)
			require.NoError(t, err)
			_, err = dup.Dup()
			require.ErrorIs(t, err, runtime.ErrCommBroken)
			return
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.Rank() == 0 {
			time.AfterFunc(10*time.Millisecond, func() { cancel(errors.New("enough")) })
		}
		_, err = dup.WithContext(ctx).Split(0, 0)
		if c.Rank() == 0 {
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorContains(t, err, "enough")
			require.ErrorIs(t, dup.Err(), runtime.ErrCommBroken)
			require.NoError(t, runtime.Send[int](c, nil, 2, 0))
		} else {
			require.ErrorIs(t, err, runtime.ErrCommBroken)
		}
		cancel(nil)
	})
}

// Communicators and Worlds print their names and ranks, and Explain describes the path to a rank.
func TestNamesAndExplanations(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		dup, err := c.Dup()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("world.dup (%d of 2)", c.Rank()), dup.String())
		require.Equal(t, fmt.Sprintf("rank %d of 2", c.Rank()), c.World().String())
		require.Contains(t, c.World().Explain(1-c.Rank()), fmt.Sprintf("rank %d: shm", 1-c.Rank()))
		require.Contains(t, c.World().Explain(c.Rank()), "this rank itself")
		require.Contains(t, c.World().Explain(2), "not in a world of 2")
	})
}

// The source in a TruncatedError and in a TypeMismatchError is a rank of the communicator, not a
// World rank.
func TestErrorsNameRanksOfTheCommunicator(t *testing.T) {
	local(t, 3, func(w *runtime.Comm) {
		c, err := w.Split(0, -w.Rank()) // rank 2 comes first
		require.NoError(t, err)
		if c.Rank() == 0 {
			require.NoError(t, errors.Join(runtime.Send(c, []int{1, 2}, 1, 1), runtime.Send(c, []int{1}, 1, 2)))
		}
		if c.Rank() == 1 {
			var long *runtime.TruncatedError
			_, err = runtime.Recv(c, make([]int, 1), 0, 1)
			require.ErrorAs(t, err, &long)
			require.Equal(t, runtime.TruncatedError{Source: 0, Tag: 1, Sent: 16, Room: 8}, *long)
			var other *runtime.TypeMismatchError
			_, err = runtime.Recv(c, make([]float64, 1), 0, 2)
			require.ErrorAs(t, err, &other)
			require.Zero(t, other.Source)
		}
	})
}
