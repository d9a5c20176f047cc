package actors_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// keyed is a message with a hash.
type keyed struct{ Key int64 }

func (k keyed) Hash() string { return fmt.Sprint(k.Key) }

func init() { actors.RegisterType[keyed]() }

// initial is a message whose Hash panics if the text is empty.
type initial struct{ Text string }

func (i initial) Hash() string { return i.Text[:1] }

func init() { actors.RegisterType[initial]() }

// TestHashThatPanics checks that a message whose Hash panics is a dead letter of the router. The
// same must hold for a message of another rank, for which the goroutine that delivers arrivals calls
// Hash.
func TestHashThatPanics(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		dead := letters(all[1])
		in := inbox(t, all[1], "in", all[1].Worker())
		_, err := all[1].Route(actors.ConsistentHash, "router", all[1].PID(1, "in"))
		require.NoError(t, err)
		for _, s := range all {
			_, err := s.Root.RequestFuture(s.PID(1, "router"), initial{}, soon).Result()
			require.ErrorIs(t, err, actor.ErrDeadLetter)
			require.ErrorIs(t, next(t, dead), actors.ErrRoute)
			s.Root.Send(s.PID(1, "router"), initial{"x"})
			require.Equal(t, initial{"x"}, next(t, in))
		}
	})
}

// tellers spawns, on each rank, an actor that answers each message with its rank.
func tellers(t *testing.T, all []*actors.System) []*actor.PID {
	t.Helper()
	var pids []*actor.PID
	for rank, s := range all {
		pid, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case int, keyed:
				c.Respond(rank)
			}
		}), "teller")
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

func TestRouters(t *testing.T) {
	local(t, 3, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		pids := tellers(t, all)
		in := inbox(t, s, "in", s.Worker())
		from := s.PID(0, "in")
		call := func(router *actor.PID, m any) any {
			v, err := all[1].Root.RequestFuture(actor.NewPID(router.Address, router.Id), m, soon).Result()
			require.NoError(t, err)
			return v
		}

		turns, err := s.Route(actors.RoundRobin, "turns", pids...)
		require.NoError(t, err)
		_, err = s.Route(actors.RoundRobin, "turns")
		require.ErrorIs(t, err, actor.ErrNameExists)
		for i := range 9 {
			require.Equal(t, i%3, call(turns, 1))
		}

		everybody, err := s.Route(actors.Broadcast, "", pids...)
		require.NoError(t, err)
		s.Root.RequestWithCustomSender(everybody, 1, from)
		require.ElementsMatch(t, []any{0, 1, 2}, []any{next(t, in), next(t, in), next(t, in)})

		quickest, err := s.Route(actors.FirstAnswer, "", pids...)
		require.NoError(t, err)
		for range 20 {
			require.Contains(t, []any{0, 1, 2}, call(quickest, 1))
		}

		hashed, err := s.Route(actors.ConsistentHash, "", pids...)
		require.NoError(t, err)
		before, used := map[int64]any{}, map[any]bool{}
		for k := range int64(60) {
			before[k] = call(hashed, keyed{k})
			used[before[k]] = true
			require.Equal(t, before[k], call(hashed, keyed{k}))
		}
		require.Len(t, used, 3)

		dead := letters(s)
		s.Root.Send(hashed, 1)
		require.ErrorIs(t, next(t, dead), actors.ErrRoute)
		s.Root.Send(everybody, new(runtime.Message))
		require.ErrorIs(t, next(t, dead), actors.ErrRoute)

		// The end of one actor does not change which keys the other actors get.
		require.NoError(t, s.Root.StopFuture(s.PID(1, "teller")).Wait())
		require.Eventually(t, func() bool {
			return !slices.Contains([]any{call(turns, 1), call(turns, 1), call(turns, 1)}, any(1))
		}, soon, time.Millisecond)
		for k, v := range before {
			now := call(hashed, keyed{k})
			require.NotEqual(t, 1, now)
			if v != 1 {
				require.Equal(t, v, now, k)
			}
		}

		// A router can be watched and stopped like an actor.
		require.NoError(t, all[1].Root.StopFuture(actor.NewPID(turns.Address, turns.Id)).Wait())
		s.Root.Stop(s.PID(0, "teller"))
		s.Root.Stop(s.PID(2, "teller"))
		require.Eventually(t, func() bool {
			s.Root.Send(hashed, keyed{1})
			for len(dead) > 0 {
				if d := <-dead; d.PID.Id == hashed.Id {
					return true
				}
			}
			return false
		}, soon, time.Millisecond)
	})
}
