package actors_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

func TestNames(t *testing.T) {
	local(t, 3, actors.Config{}, func(all []*actors.System) {
		var pids []*actor.PID
		for i := range 20 {
			pid, err := all[i%3].Spawn(idle(), "")
			require.NoError(t, err)
			pids = append(pids, pid)
			require.NoError(t, all[0].Register(fmt.Sprint("name", i), pid))
			require.NoError(t, all[1].Register(fmt.Sprint("name", i), pid), "again")
		}
		for i, pid := range pids {
			found, err := all[2].Lookup(fmt.Sprint("name", i))
			require.NoError(t, err)
			require.True(t, pid.Equal(found))
			ask(t, all[2], found, 1)
		}
		require.ErrorIs(t, all[0].Register("name1", pids[0]), actors.ErrNameTaken)
		_, err := all[0].Lookup("never")
		require.ErrorIs(t, err, actors.ErrNoName)
		require.NoError(t, all[0].Unregister("name1"))
		require.NoError(t, all[0].Unregister("name1"))
		require.NoError(t, all[0].Register("name1", pids[0]))
		// A name ends with its actor.
		require.NoError(t, all[1].Root.StopFuture(pids[2]).Wait())
		require.Eventually(t, func() bool {
			_, err := all[0].Lookup("name2")
			return err != nil
		}, soon, time.Millisecond)
		require.NoError(t, all[0].Register("name2", pids[0]))
	})
}

// Names that a dead rank kept are lost, and every use of one says so; those of the
// others are as they were, except those of its actors.
func TestNamesOfADeadRank(t *testing.T) {
	require.NoError(t, localErr(3, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		here, err := s.Spawn(idle(), "here")
		require.NoError(t, err)
		there, err := all[1].Spawn(idle(), "there")
		require.NoError(t, err)
		const n = 30
		for i := range n {
			pid := here
			if i%2 == 1 {
				pid = there
			}
			require.NoError(t, s.Register(fmt.Sprint("name", i), pid))
		}
		s.Lose(1)
		all[2].Lose(1)
		lost, gone, kept := 0, 0, 0
		for i := range n {
			name := fmt.Sprint("name", i)
			require.Eventually(t, func() bool { // its actors' names go one by one
				found, err := s.Lookup(name)
				switch {
				case errors.Is(err, actors.ErrNamesLost):
					require.ErrorIs(t, s.Register(name, here), actors.ErrNamesLost)
					require.ErrorIs(t, s.Unregister(name), actors.ErrNamesLost)
					lost++
				case errors.Is(err, actors.ErrNoName):
					require.Equal(t, 1, i%2)
					gone++
				case err == nil && i%2 == 0:
					require.True(t, here.Equal(found))
					kept++
				default:
					require.NoError(t, err)
					return false
				}
				return true
			}, soon, time.Millisecond)
		}
		require.Positive(t, lost)
		require.Positive(t, gone)
		require.Positive(t, kept)
	}))
}
