package actors_test

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestSpawnAmongIsWatched checks that Stop and Watch reach the actor on the rank where it
// currently runs.
func TestSpawnAmongIsWatched(t *testing.T) {
	// A rank that is declared lost continues to run, and could still write to shared memory.
	overNetwork(t)
	local(t, 3, actors.Config{}, func(all []*actors.System) {
		pid, err := all[0].SpawnAmong(idle(), "roams", 1, 2)
		require.NoError(t, err)
		for _, s := range all[1:] {
			_, err := s.SpawnAmong(idle(), "roams", 1, 2)
			require.NoError(t, err)
		}
		w, heard := watcher(t, all[0], "watcher")
		ask(t, all[0], w, pid)
		all[2].Lose(1)
		all[0].Lose(1)
		m := next(t, heard)
		require.Equal(t, all[0].PID(1, "roams").String(), m.Who.String())
		require.Equal(t, actor.TerminatedReason_AddressTerminated, m.Why)
		ask(t, all[0], w, pid) // on its current rank
		ask(t, all[0], pid, 1)
		all[0].Root.Stop(pid)
		require.Equal(t, all[0].PID(2, "roams").String(), next(t, heard).Who.String())
	})
}

// TestSpawnAmongAgain checks that nothing remains of a SpawnAmong that failed because another actor had the name.
func TestSpawnAmongAgain(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		other, err := s.Spawn(idle(), "name")
		require.NoError(t, err)
		_, err = s.SpawnAmong(idle(), "name", 0)
		require.ErrorIs(t, err, actor.ErrNameExists)
		require.NoError(t, s.Root.StopFuture(other).Wait())
		pid, err := s.SpawnAmong(idle(), "name", 0)
		require.NoError(t, err)
		ask(t, s, pid, 1)
	})
}
