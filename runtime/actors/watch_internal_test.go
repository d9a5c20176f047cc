package actors

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// TestTerminatedOfALaterWatcher has a later actor begin a watch after the serving goroutine has found the mailbox of an
// earlier actor with the same name for a Terminated. The later actor must get the Terminated, because its watch is
// removed.
func TestTerminatedOfALaterWatcher(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		if w.Rank() != 0 {
			return nil
		}
		s, err := Of(w)
		require.NoError(t, err)
		nothing := actor.PropsFromFunc(func(actor.Context) {}, s.Worker())
		first, err := s.Spawn(nothing, "watcher")
		require.NoError(t, err)
		found, _ := s.boxes.Load("watcher")
		require.NoError(t, s.Root.StopFuture(first).Wait())
		_, err = s.Spawn(nothing, "watcher")
		require.NoError(t, err)
		later, _ := s.boxes.Load("watcher")
		require.NotSame(t, found, later)
		who := s.PID(1, "who")
		require.True(t, s.watch(remoteKey{rank: 1, id: "who"}, later.(*mailbox).pid, who))

		end := &arrival{
			kind: arrivalSystem, number: codec.NumberTerminated, source: 1, to: s.NewLocalPID("watcher"), sender: who,
			details: &arrivalDetails{bytes: []byte{byte(actor.TerminatedReason_Stopped)}},
		}
		p := &inbound{s: s}
		message, to := p.system(end, found.(*mailbox))
		require.Equal(t, &actor.Terminated{Who: who}, message)
		require.Same(t, later, to)
		message, _ = p.system(end, later.(*mailbox))
		require.Nil(t, message, "the watch has ended")
		return nil
	}))
}
