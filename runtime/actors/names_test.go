package actors_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

func TestNames(t *testing.T) {
	local(t, 3, actors.Config{}, func(all []*actors.System) {
		var pids []*actor.PID
		for i := range 20 {
			pid, err := all[i%3].Spawn(idle(), "")
			require.NoError(t, err)
			pids = append(pids, pid)
			require.NoError(t, all[0].RegisterName(fmt.Sprint("name", i), pid))
			require.NoError(t, all[1].RegisterName(fmt.Sprint("name", i), pid), "again")
		}
		for i, pid := range pids {
			found, err := all[2].LookupName(fmt.Sprint("name", i))
			require.NoError(t, err)
			require.True(t, pid.Equal(found))
			ask(t, all[2], found, 1)
		}
		require.ErrorIs(t, all[0].RegisterName("name1", pids[0]), actors.ErrNameTaken)
		for _, pid := range []*actor.PID{nil, all[0].PID(3, "x"), actor.NewPID("elsewhere:80", "x")} {
			require.ErrorIs(t, all[0].RegisterName("nowhere", pid), actors.ErrNoRank)
		}
		_, err := all[0].LookupName("never")
		require.ErrorIs(t, err, actors.ErrNoName)
		require.NoError(t, all[0].UnregisterName("name1"))
		require.NoError(t, all[0].UnregisterName("name1"))
		require.NoError(t, all[0].RegisterName("name1", pids[0]))
		// When an actor ends, its name becomes free.
		require.NoError(t, all[1].Root.StopFuture(pids[2]).Wait())
		require.Eventually(t, func() bool {
			_, err := all[0].LookupName("name2")
			return err != nil
		}, soon, time.Millisecond)
		require.NoError(t, all[0].RegisterName("name2", pids[0]))
	})
}

// TestUnregisterLate sends the last request of an UnregisterName late, when the actor that the call has
// found does not have the name any more. The request must not remove the name from the actor that has
// the name now.
func TestUnregisterLate(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		first, err := all[0].Spawn(idle(), "")
		require.NoError(t, err)
		second, err := all[1].Spawn(idle(), "")
		require.NoError(t, err)
		require.NoError(t, all[0].RegisterName("name", second))
		for keeper := range 2 { // the last request of a late UnregisterName for the first actor
			m := actors.NameRequest(actors.NameRemove, "name", first.Address, first.Id, keeper)
			_, err := all[0].Root.RequestFuture(all[0].PID(keeper, actors.NamesID), m, soon).Result()
			require.NoError(t, err)
		}
		found, err := all[1].LookupName("name")
		require.NoError(t, err)
		require.True(t, second.Equal(found))
	})
}

// TestNamesOutliveTheirKeepers kills the ranks that store names, one after the other. The names of
// living actors must remain, and names can still be registered and unregistered. The names of dead
// actors must become free.
func TestNamesOutliveTheirKeepers(t *testing.T) {
	const ranks, count = 5, 40
	f, all := fake(t, ranks, transporttest.FakeOptions{Seed: 1, AgainRate: 0.1, DelayPolls: 5, ConnectPolls: 20}, nil)
	var pids []*actor.PID
	for i := range count {
		pid, err := all[i%ranks].Spawn(idle(), fmt.Sprint("actor", i))
		require.NoError(t, err)
		pids = append(pids, pid)
		require.NoError(t, all[(i+1)%ranks].RegisterName(fmt.Sprint("name", i), actor.NewPID(pid.Address, pid.Id)))
	}
	require.NoError(t, all[0].UnregisterName("name4"))
	for _, victim := range []int{1, 2, 3} {
		f.Kill(victim, errors.New("killed"))
		for i, pid := range pids {
			text := fmt.Sprint("name", i)
			alive := i%ranks == 0 || i%ranks > victim
			for _, s := range []*actors.System{all[0], all[4]} {
				require.Eventually(t, func() bool {
					found, err := s.LookupName(text)
					if !alive || i == 4 {
						return errors.Is(err, actors.ErrNoName)
					}
					return err == nil && found.Equal(pid)
				}, soon, time.Millisecond, "%s after the death of %d", text, victim)
			}
			if !alive {
				continue
			}
			other, err := all[0].Spawn(idle(), "")
			require.NoError(t, err)
			if i != 4 {
				require.ErrorIs(t, all[4].RegisterName(text, other), actors.ErrNameTaken)
				continue
			}
			require.NoError(t, all[4].RegisterName(text, other))
			require.NoError(t, all[0].UnregisterName(text))
		}
	}
	// The names of dead actors are free at once.
	require.NoError(t, all[0].RegisterName("name1", pids[0]))
	found, err := all[4].LookupName("name1")
	require.NoError(t, err)
	require.True(t, found.Equal(pids[0]))
	// When an actor ends, its name becomes free, on whatever rank the name is stored.
	require.NoError(t, all[0].Root.StopFuture(pids[0]).Wait())
	require.Eventually(t, func() bool {
		_, one := all[4].LookupName("name1")
		_, two := all[4].LookupName("name0")
		return errors.Is(one, actors.ErrNoName) && errors.Is(two, actors.ErrNoName)
	}, soon, time.Millisecond)
}
