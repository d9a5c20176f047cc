package rdma

import (
	"log/slog"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// A request of a rank that comes while the actors stop starts no other one: nobody would
// tell that one to stop, and the end of the transport would wait for it in vain.
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
	system.Root.Send(pid, goOn) // the slow one ends after the supervisor has taken the notice
	require.NoError(t, stopped.Wait())
}
