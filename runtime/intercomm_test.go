package runtime_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// halves connects two groups of the ranks of c: the ranks below low, and the others in reverse
// order. The leaders are the last ranks of their groups.
func halves(t *testing.T, c *runtime.Comm, low, tag int) (connected *runtime.Intercomm, mine, others []int) {
	t.Helper()
	first, second := numbers(c.Size())[:low], numbers(c.Size())[low:]
	slices.Reverse(second)
	color, key, remote := 0, c.Rank(), low
	mine, others = first, second
	if c.Rank() >= low {
		color, key, remote = 1, -c.Rank(), low-1
		mine, others = second, first
	}
	group, err := c.Split(color, key)
	require.NoError(t, err)
	connected, err = group.CreateIntercomm(group.Size()-1, c, remote, tag)
	require.NoError(t, err)
	require.NoError(t, group.Close(), "it is not needed any more")
	return connected, mine, others
}

// On an Intercomm, ranks are those of the other group, and every rank can send to every rank of the
// other group (MPICH's comm/ic1.c and pt2pt/icsend.c).
func TestIntercommReachesTheOtherGroup(t *testing.T) {
	overTransports(t, 5, func(c *runtime.Comm) {
		for low := 1; low < 5; low++ {
			inter, mine, others := halves(t, c, low, low)
			require.Equal(t, slices.Index(mine, c.Rank()), inter.Rank())
			require.Equal(t, len(mine), inter.Local().Size())
			require.Equal(t, len(others), inter.RemoteSize())
			require.Equal(t, others, inter.RemoteGroup().Ranks())
			ring(t, inter.Local(), mine)
			// Every rank sends to every rank of the other group and receives from any source.
			var sends []runtime.Request
			for to := range others {
				sends = append(sends, runtime.Isend(inter.Comm, []int{c.Rank()}, to, 3))
			}
			seen := map[int]bool{}
			for range others {
				got := make([]int, 1)
				s, err := runtime.Recv(inter.Comm, got, runtime.AnySource, 3)
				require.NoError(t, err)
				require.Equal(t, others[s.Source], got[0])
				seen[s.Source] = true
			}
			require.Len(t, seen, len(others))
			require.NoError(t, runtime.WaitAll(sends))
			require.ErrorIs(t, runtime.Send(inter.Comm, []int{1}, len(others), 0), runtime.ErrRank)
			require.NoError(t, inter.Close())
			require.ErrorIs(t, inter.Local().Err(), runtime.ErrCommClosed)
		}
	})
}

// Probe finds a message of the other group (MPICH's pt2pt/icprobe.c).
func TestIntercommProbe(t *testing.T) {
	local(t, 4, func(c *runtime.Comm) {
		inter, _, _ := halves(t, c, 2, 0)
		require.NoError(t, runtime.Send(inter.Comm, []int{c.Rank()}, inter.Rank(), 9))
		s, err := runtime.Probe(inter.WithContext(t.Context()).Comm, runtime.AnySource, runtime.AnyTag)
		require.NoError(t, err)
		require.Equal(t, inter.Rank(), s.Source)
		require.Equal(t, 9, s.Tag)
		_, err = runtime.Recv(inter.Comm, make([]int, 1), s.Source, 9)
		require.NoError(t, err)
	})
}

// Merge makes a communicator of both groups, with either group first (MPICH's comm/icm.c). Merge
// also works with more than 32 ranks (comm/ic2.c).
func TestIntercommMerge(t *testing.T) {
	for _, ranks := range []int{2, 5, 40} {
		local(t, ranks, func(c *runtime.Comm) {
			low := 1 + ranks/3
			inter, mine, others := halves(t, c, low, 0)
			lower, upper := mine, others
			if c.Rank() >= low {
				lower, upper = others, mine
			}
			for _, high := range [][2]bool{{false, true}, {true, false}, {false, false}, {true, true}} {
				my := high[0]
				if c.Rank() >= low {
					my = high[1]
				}
				all, err := inter.Merge(my)
				require.NoError(t, err)
				want := slices.Concat(lower, upper)
				if high[0] && !high[1] {
					want = slices.Concat(upper, lower)
				}
				if ranks < 10 {
					ring(t, all, want)
				}
				require.Equal(t, want, all.Group().Ranks())
				require.Equal(t, c.Rank(), all.WorldRank(all.Rank()))
				require.NoError(t, all.Close())
			}
		})
	}
}

// The messages of a duplicate of an Intercomm are separate from the messages of the original
// (MPICH's comm/dupic.c).
func TestIntercommDup(t *testing.T) {
	local(t, 4, func(c *runtime.Comm) {
		inter, _, others := halves(t, c, 2, 0)
		dup, err := inter.Dup()
		require.NoError(t, err)
		require.Equal(t, others, dup.RemoteGroup().Ranks())
		require.NoError(t, runtime.Send(inter.Comm, []int{1}, inter.Rank(), 0))
		require.NoError(t, runtime.Send(dup.Comm, []int{2}, inter.Rank(), 0))
		for i, comm := range []*runtime.Comm{dup.Comm, inter.Comm} {
			got := make([]int, 1)
			_, err := runtime.Recv(comm, got, runtime.AnySource, runtime.AnyTag)
			require.NoError(t, err)
			require.Equal(t, 2-i, got[0])
		}
		// The number of an Intercomm that all ranks have closed is used again, without the messages
		// left in it.
		for round := range 100 {
			again, err := inter.Dup()
			require.NoError(t, err)
			for range 2 {
				require.NoError(t, runtime.Send(again.Comm, []int{round}, (round+c.Rank())%2, 0))
			}
			if round%2 == 0 {
				got := make([]int, 1)
				_, err = runtime.Recv(again.Comm, got, runtime.AnySource, runtime.AnyTag)
				require.NoError(t, err)
				require.Equal(t, round, got[0])
			}
			require.NoError(t, again.Close())
		}
	})
}

// Break ends the operations of both groups.
func TestIntercommBreak(t *testing.T) {
	local(t, 5, func(c *runtime.Comm) {
		inter, _, _ := halves(t, c, 2, 0)
		if c.Rank() == 0 {
			inter.Break(errors.New("wrong"))
		}
		_, err := runtime.Recv(inter.Comm, make([]int, 1), runtime.AnySource, 0)
		require.ErrorIs(t, err, runtime.ErrCommBroken)
		_, err = inter.Merge(false)
		require.ErrorIs(t, err, runtime.ErrCommBroken)
		require.NoError(t, c.Err())
	})
}

// If one rank abandons an operation on an Intercomm, the operation ends for both groups, even if
// that rank is not the leader of its group.
func TestIntercommFailureReachesTheOtherGroup(t *testing.T) {
	for name, try := range map[string]func(*runtime.Intercomm) error{
		"Dup":   func(i *runtime.Intercomm) error { return second(i.Dup()) },
		"Merge": func(i *runtime.Intercomm) error { return second(i.Merge(false)) },
	} {
		t.Run(name, func(t *testing.T) {
			local(t, 5, func(c *runtime.Comm) {
				inter, _, _ := halves(t, c, 2, 0)
				if c.Rank() == 1 {
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					require.ErrorIs(t, try(inter.WithContext(ctx)), context.Canceled)
					return
				}
				require.ErrorIs(t, try(inter), runtime.ErrCommBroken)
				require.ErrorIs(t, inter.Err(), runtime.ErrCommBroken)
			})
		})
	}
}

// If one rank abandons CreateIntercomm, the call ends for both groups, whether that rank is a
// leader or not.
func TestCreateIntercommFailureReachesTheOtherGroup(t *testing.T) {
	for odd := range 5 {
		overTransports(t, 5, func(c *runtime.Comm) {
			color, remote := 0, 2
			if c.Rank() >= 2 {
				color, remote = 1, 0
			}
			group, err := c.Split(color, 0)
			require.NoError(t, err)
			if c.Rank() == odd {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := group.WithContext(ctx).CreateIntercomm(0, c, remote, 0)
				require.ErrorIs(t, err, context.Canceled)
				return
			}
			_, err = group.CreateIntercomm(0, c, remote, 0)
			require.Error(t, err)
			require.ErrorIs(t, group.Err(), runtime.ErrCommBroken)
			require.NoError(t, c.Err(), "the bridge")
		})
	}
}

// If the leaders cannot use the communicator that connects them, CreateIntercomm ends at all ranks of
// the groups.
func TestCreateIntercommWithoutAUsableBridge(t *testing.T) {
	for _, spoil := range []func(bridge *runtime.Comm) *runtime.Comm{
		func(bridge *runtime.Comm) *runtime.Comm {
			bridge.Break(errors.New("wrong"))
			return bridge
		},
		func(bridge *runtime.Comm) *runtime.Comm {
			_ = bridge.Close()
			return bridge
		},
		func(*runtime.Comm) *runtime.Comm { return nil },
	} {
		local(t, 4, func(c *runtime.Comm) {
			group, err := c.Split(c.Rank()/2, 0)
			require.NoError(t, err)
			bridge, err := c.Dup()
			require.NoError(t, err)
			_, err = group.CreateIntercomm(0, spoil(bridge), 2-c.Rank()/2*2, 0)
			require.Error(t, err)
			require.ErrorIs(t, group.Err(), runtime.ErrCommBroken)
		})
	}
}

// If a leader passes a wrong rank for the leader of the other group, CreateIntercomm ends at all
// ranks of both groups. The communicator that connects the leaders can still be used.
func TestCreateIntercommWithAWrongLeader(t *testing.T) {
	for _, wrong := range []int{-1, 0, 4, runtime.AnySource, runtime.ProcNull} { // 0 is the leader itself
		overTransports(t, 4, func(c *runtime.Comm) {
			group, err := c.Split(c.Rank()/2, 0)
			require.NoError(t, err)
			remote := 2 - c.Rank()/2*2
			if c.Rank() == 0 {
				remote = wrong
			}
			_, err = group.CreateIntercomm(0, c, remote, 3)
			switch {
			case wrong == 0 && c.Rank() < 2:
				require.ErrorIs(t, err, runtime.ErrArgument, "it is in both groups")
			case c.Rank() == 0:
				require.ErrorIs(t, err, runtime.ErrRank)
			default:
				require.Error(t, err)
				require.ErrorIs(t, group.Err(), runtime.ErrCommBroken)
			}
			inter, _, _ := halves(t, c, 2, 4)
			require.NoError(t, inter.Close())
		})
	}
}

// If two goroutines of a rank connect the same group at the same time, one of them gets ErrInUse.
func TestIntercommInUse(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		group, err := c.Split(c.Rank(), 0)
		require.NoError(t, err)
		if c.Rank() == 0 {
			ctx, cancel := context.WithCancel(t.Context())
			first := make(chan error, 1)
			go func() {
				err := runtime.ErrInUse
				for errors.Is(err, runtime.ErrInUse) { // the call below may be in progress
					err = second(group.WithContext(ctx).CreateIntercomm(0, c, 1, 1))
				}
				first <- err
			}()
			// Repeat until the call of the goroutine is in progress. A group cannot be connected with itself, but the
			// attempt does not break it.
			for !errors.Is(second(group.CreateIntercomm(0, group, 0, 2)), runtime.ErrInUse) {
				goruntime.Gosched()
			}
			cancel()
			require.ErrorIs(t, <-first, context.Canceled)
		}
		require.NoError(t, second(c.Dup()))
	})
}

// Functions of an invalid Intercomm return ErrComm, nil or a zero value.
func TestNoIntercomm(t *testing.T) {
	local(t, 2, func(c *runtime.Comm) {
		inter, _, _ := halves(t, c, 1, 0)
		for _, none := range []*runtime.Intercomm{nil, {}, {Comm: c}, {Comm: inter.Comm}} {
			require.ErrorIs(t, none.Err(), runtime.ErrComm)
			require.ErrorIs(t, none.Close(), runtime.ErrComm)
			require.ErrorIs(t, second(none.Dup()), runtime.ErrComm)
			require.ErrorIs(t, second(none.Merge(true)), runtime.ErrComm)
			require.ErrorIs(t, none.WithContext(t.Context()).Err(), runtime.ErrComm)
			require.Zero(t, none.RemoteSize())
			require.Zero(t, none.RemoteGroup().Size())
			require.Nil(t, none.Local())
		}
		require.NoError(t, inter.Close())
	})
}

// Wrong arguments of CreateIntercomm, and functions that need an ordinary communicator, are
// refused.
func TestIntercommArguments(t *testing.T) {
	local(t, 4, func(c *runtime.Comm) {
		group, err := c.Split(c.Rank()/2, 0)
		require.NoError(t, err)
		inter, _, _ := halves(t, c, 2, 0)
		var none *runtime.Comm
		other := 2 - c.Rank()/2*2
		for name, check := range map[string]struct {
			err, want error
		}{
			"no group":                  {second(none.CreateIntercomm(0, c, other, 0)), runtime.ErrComm},
			"a leader too high":         {second(group.CreateIntercomm(2, c, other, 0)), runtime.ErrRank},
			"a negative leader":         {second(group.CreateIntercomm(-1, c, other, 0)), runtime.ErrRank},
			"a tag too high":            {second(group.CreateIntercomm(0, c, other, runtime.TagMax+1)), runtime.ErrTag},
			"no bridge":                 {second(group.CreateIntercomm(group.Rank(), nil, other, 0)), runtime.ErrComm},
			"a remote leader too high":  {second(group.CreateIntercomm(group.Rank(), c, 4, 0)), runtime.ErrRank},
			"an Intercomm as bridge":    {second(group.CreateIntercomm(group.Rank(), inter.Comm, 0, 0)), runtime.ErrComm},
			"an Intercomm as group":     {second(inter.CreateIntercomm(0, c, other, 0)), runtime.ErrComm},
			"Dup of its Comm":           {second(inter.Comm.Dup()), runtime.ErrComm},
			"Split of it":               {second(inter.Split(0, 0)), runtime.ErrComm},
			"Create of it":              {second(inter.Create(c.Group(), 0)), runtime.ErrComm},
			"SplitType of it":           {second(inter.SplitType(runtime.SharedNode, 0)), runtime.ErrComm},
			"a grid of it":              {second(inter.CreateCart(nil, nil, false)), runtime.ErrComm},
			"a graph of it":             {second(inter.CreateGraph(nil, nil, nil, nil, false)), runtime.ErrComm},
			"shared memory of it":       {second(runtime.NewShared(inter.Comm, 8)), runtime.ErrComm},
			"groups with a common rank": {second(c.CreateIntercomm(1, c, 1, 0)), runtime.ErrArgument},
		} {
			require.ErrorIs(t, check.err, check.want, name)
		}
		require.ErrorIs(t, second(inter.Merge(c.Rank() == 3)), runtime.ErrArgument)
		require.True(t, inter.Remote())
		require.False(t, c.Remote())
		require.NoError(t, inter.Close())
		require.ErrorIs(t, second(inter.Dup()), runtime.ErrCommClosed)
		require.ErrorIs(t, second(inter.Merge(true)), runtime.ErrCommClosed)
	})
}
