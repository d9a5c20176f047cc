package rdma

import (
	"log/slog"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// TestNobodyIsCastWhileTheActorsStop sends the supervisor a notice of another peer while the actors stop. The
// test checks that the supervisor starts no new actor. Nothing would stop a new actor, and the end of the
// transport would wait for this actor forever.
func TestNobodyIsCastWhileTheActorsStop(t *testing.T) {
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	defer system.Shutdown()
	d := &supervisor{t: &Transport{}, connectors: map[int]*actor.PID{}, ranks: map[string]int{}, failures: map[string]error{}, ended: map[int]bool{}}
	stops, goOn := make(chan struct{}), make(chan struct{})
	slow := actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Stopping); ok {
			close(stops)
			<-goOn
		}
	})
	pid, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case *actor.Started:
			d.connectors[1] = c.Spawn(slow)
		case chan struct{}:
			close(goOn)
		}
		d.Receive(c)
	}), supervisorID)
	require.NoError(t, err)

	stopped := system.Root.StopFuture(pid)
	select {
	case <-stops:
	case <-time.After(10 * time.Second):
		require.FailNow(t, "the actor is not told to stop")
	}
	system.Root.Send(pid, notice{peer: 2, event: peering.Event{Kind: peering.Tick}})
	system.Root.Send(pid, goOn) // lets the slow actor end after the supervisor has handled the notice
	require.NoError(t, stopped.Wait())
}
