package rdma

import (
	"log/slog"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/peering"
)

// TestNobodyIsCastWhileTheActorsStop sends the supervisor a notice of another peer while the actors stop. The
// test checks that the supervisor starts no new actor. Nothing would stop a new actor, and the end of the
// transport would wait for this actor forever.
func TestNobodyIsCastWhileTheActorsStop(t *testing.T) {
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	defer system.Shutdown()
	d := &supervisor{t: &Transport{}, connectors: map[int]*actor.PID{}, ranks: map[string]int{}, failures: map[string]error{}, ended: map[int]bool{}, finished: map[int]bool{}}
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

// TestActorThatFinishesAndEndsCountsOnce has the actor of a peer report that it has finished, and then end, for example
// because it fails. The test checks that Close goes on waiting for the actor of another peer.
func TestActorThatFinishesAndEndsCountsOnce(t *testing.T) {
	for name, messages := range map[string][]any{
		"one peer":   {finishing{1}, &actor.Terminated{Who: &actor.PID{Id: "one"}}},
		"both peers": {finishing{1}, &actor.Terminated{Who: &actor.PID{Id: "one"}}, finishing{2}},
	} {
		t.Run(name, func(t *testing.T) {
			system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
			defer system.Shutdown()
			of := &Transport{peers: make([]*endpoint, 3)}
			of.commands.wake = func() {}
			of.supervision.struck = true
			of.peers[1] = &endpoint{t: of, end: &transport.PeerDown{Peer: 1}} // is already lost
			d := &supervisor{
				t: of, connectors: map[int]*actor.PID{1: {Id: "one"}, 2: {Id: "two"}}, ranks: map[string]int{"one": 1, "two": 2},
				failures: map[string]error{}, ended: map[int]bool{}, finished: map[int]bool{}, ending: true,
			}
			pid := system.Root.Spawn(actor.PropsFromFunc(d.Receive))
			for _, m := range messages {
				system.Root.Send(pid, m)
			}
			require.NoError(t, system.Root.PoisonFuture(pid).Wait())
			of.obey()
			require.Equal(t, name == "both peers", of.over)
		})
	}
}
