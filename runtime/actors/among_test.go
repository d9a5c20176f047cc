package actors_test

import (
	"errors"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
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
		require.True(t, pid.Equal(m.Who))
		require.Equal(t, actor.TerminatedReason_AddressTerminated, m.Why)
		ask(t, all[0], w, pid) // on its current rank
		ask(t, all[0], pid, 1)
		all[0].Root.Stop(pid)
		require.True(t, pid.Equal(next(t, heard).Who))
	})
}

// TestSpawnAmongIsWatchedByOtherRanks checks that a watch of another rank through the PID of SpawnAmong ends with one
// Terminated that contains this PID. The actor is at the rank of the PID or at a third rank. The test also checks
// that an ended watch gets no Terminated, and that a name of the PID is removed.
func TestSpawnAmongIsWatchedByOtherRanks(t *testing.T) {
	for _, at := range []int{0, 1} { // the rank that has the actor
		local(t, 3, actors.Config{Patience: time.Millisecond}, func(all []*actors.System) {
			pid, err := all[0].SpawnAmong(idle(), "roams", at)
			require.NoError(t, err)
			if at != 0 {
				_, err = all[at].SpawnAmong(idle(), "roams", at)
				require.NoError(t, err)
			}
			require.NoError(t, all[0].RegisterName("name", pid))
			other := actor.NewPID(pid.Address, pid.Id) // as in a message
			w, heard := watcher(t, all[2], "watcher")
			ask(t, all[2], w, other)
			ask(t, all[2], w, other) // a second watch changes nothing
			leaves, gone := unwatcher(t, all[0], other)
			ask(t, all[0], leaves, 1)
			ask(t, all[2], other, 1) // the watches have reached the actor
			all[at].Root.Stop(all[at].PID(at, "roams"))
			m := next(t, heard)
			require.True(t, pid.Equal(m.Who))
			require.Equal(t, actor.TerminatedReason_Stopped, m.Why)
			require.Eventually(t, func() bool {
				_, err := all[2].LookupName("name")
				return errors.Is(err, actors.ErrNoName)
			}, soon, soon/1000)
			ask(t, all[2], w, all[2].PID(0, "none"))
			require.Equal(t, "none", next(t, heard).Who.Id)
			require.Empty(t, heard)
			ask(t, all[0], leaves, 1)
			require.Empty(t, gone)
		})
	}
}

// unwatcher spawns an actor that has begun and ended a watch of pid when it answers a request. It sends each
// Terminated to a channel.
func unwatcher(t *testing.T, s *actors.System, pid *actor.PID) (*actor.PID, <-chan *actor.Terminated) {
	t.Helper()
	heard := make(chan *actor.Terminated, 10)
	who, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Watch(pid)
			c.Unwatch(pid)
		case int:
			c.Respond(m)
		case *actor.Terminated:
			heard <- m
		}
	}), "unwatcher")
	require.NoError(t, err)
	return who, heard
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

// TestMessagesBeforeSpawnAmong checks that messages to the PID of SpawnAmong, of the same rank and of another one, wait
// until SpawnAmong is called.
func TestMessagesBeforeSpawnAmong(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		var asked []*actor.Future
		for _, s := range all {
			asked = append(asked, s.Root.RequestFuture(s.PID(0, "among$roams"), s.Rank(), soon))
		}
		pid, err := all[0].SpawnAmong(idle(), "roams", 0)
		require.NoError(t, err)
		require.Equal(t, "among$roams", pid.Id)
		for rank, f := range asked {
			v, err := f.Result()
			require.NoError(t, err)
			require.Equal(t, rank, v)
		}
	})
}

// TestSpawnAmongWithoutAName checks that an empty name is refused: the ranks could not agree on a generated name.
func TestSpawnAmongWithoutAName(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		_, err := all[0].SpawnAmong(idle(), "", 0)
		require.ErrorIs(t, err, runtime.ErrArgument)
	})
}
