package actors_test

import (
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
