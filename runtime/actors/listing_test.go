package actors_test

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// found returns the entry of an actor in System.Actors.
func found(t *testing.T, s *actors.System, id string) actors.Actor {
	t.Helper()
	for _, a := range s.Actors() {
		if a.ID == id {
			return a
		}
	}
	require.FailNow(t, "not in the tree", "%s of %v", id, s.Actors())
	panic("not reached")
}

func TestTreeOfActors(t *testing.T) {
	local(t, 1, small, func(all []*actors.System) {
		s := all[0]
		gate := make(chan struct{})
		child := actor.PropsFromFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case bool:
				panic("as told")
			case int:
				c.Respond(1)
			}
		}, s.Inline())
		parent, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case *actor.Started:
				_, err := c.SpawnNamed(child, "child")
				require.NoError(t, err)
			case string:
				<-gate
			case int:
				c.Respond(1)
			}
		}), "parent")
		require.NoError(t, err)
		ask(t, s, parent, 1)
		_, err = s.Spawn(actor.PropsFromFunc(func(actor.Context) {}, actor.WithMailbox(actor.Unbounded())), "own")
		require.NoError(t, err)
		_, err = s.Route(actors.RoundRobin, "router", parent)
		require.NoError(t, err)
		_ = s.Root.RequestFuture(parent, "a future is no actor", soon)
		s.Root.Send(parent, 2)
		require.Eventually(t, func() bool {
			return found(t, s, "parent") == actors.Actor{ID: "parent", Kind: "worker", State: "runs, 1 messages wait", Busy: true}
		}, soon, time.Millisecond)
		close(gate)
		ask(t, s, parent, 1)

		pid := s.PID(0, "parent/child")
		require.Equal(t, "inline", found(t, s, "parent/child").Kind)
		require.Zero(t, found(t, s, "parent/child").Restarts)
		for range 2 {
			s.Root.Send(pid, true)
		}
		ask(t, s, pid, 1)
		require.Equal(t, 2, found(t, s, "parent/child").Restarts)
		require.Equal(t, actors.Actor{ID: "own", Kind: "custom mailbox", State: "lives"}, found(t, s, "own"))
		require.Equal(t, actors.Actor{ID: "router", Kind: "router", State: "1 receivers"}, found(t, s, "router"))
		require.Eventually(t, func() bool { return found(t, s, "parent").State == "idle" }, soon, time.Millisecond)

		var ids []string
		for _, a := range s.Actors() {
			ids = append(ids, a.ID)
		}
		require.Equal(t, []string{"$names", "own", "parent", "parent/child", "router"}, ids)
		require.NoError(t, s.Root.StopFuture(parent).Wait())
		require.Len(t, s.Actors(), 3)
	})
}

// TestTransportActorsAreInTheTree checks that the tree contains the transport's connection actors,
// whether they start before or after the System. Other ranks can watch the connection actors.
// Stopping a connection actor makes its peer lost.
func TestTransportActorsAreInTheTree(t *testing.T) {
	overNetwork(t)
	for name, early := range map[string]bool{"connected before": true, "connected later": false} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
				c := w.Comm()
				exchange := func() {
					_, err := runtime.SendRecv(c, []int{1}, 1-w.Rank(), 0, make([]int, 1), 1-w.Rank(), 0)
					require.NoError(t, err)
				}
				if early {
					exchange()
				}
				s, err := actors.Of(w)
				require.NoError(t, err)
				exchange()
				other := map[int]string{0: "$rdma/rank1", 1: "$rdma/rank0"}[w.Rank()]
				require.Equal(t, actors.Actor{ID: "$rdma", Kind: "supervisor of connections", State: "runs"}, found(t, s, "$rdma"))
				require.Equal(t, actors.Actor{ID: other, Kind: "connection", State: "connected"}, found(t, s, other))
				_, ok := s.ProcessRegistry.GetLocal(other)
				require.True(t, ok)
				if early {
					return nil
				}

				// Both ranks watch the connection actor of rank 0, which ends.
				heard := make(chan *actor.Terminated, 1)
				_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
					switch m := c.Message().(type) {
					case *actor.Started:
						c.Watch(s.PID(0, "$rdma/rank1"))
					case int:
						c.Respond(m)
					case *actor.Terminated:
						heard <- m
					}
				}), "watcher")
				require.NoError(t, err)
				ask(t, s, s.PID(w.Rank(), "watcher"), 1)
				exchange()
				if w.Rank() == 0 {
					s.Root.Stop(s.PID(0, other))
				}
				m := next(t, heard)
				require.Equal(t, "rank:0", m.Who.Address)
				require.Equal(t, "$rdma/rank1", m.Who.Id)
				_, err = runtime.Recv(c, make([]int, 1), 1-w.Rank(), 1)
				var lost *runtime.PeerError
				require.ErrorAs(t, err, &lost)
				return nil
			}))
		})
	}
}

// TestIdle checks that Idle returns false if an inline actor has got a message, but the serving
// goroutine still runs another actor.
func TestIdle(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s, err := actors.Of(w)
		if err != nil {
			return err
		}
		idle := make(chan bool, 1)
		second, err := s.Spawn(actor.PropsFromFunc(func(actor.Context) {}, s.Inline()), "second")
		if err != nil {
			return err
		}
		first, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(string); ok {
				c.Send(second, "run")
				idle <- s.Idle()
			}
		}, s.Inline()), "first")
		if err != nil {
			return err
		}
		s.Root.Send(first, "run")
		require.False(t, <-idle)
		require.Eventually(t, s.Idle, soon, time.Millisecond)
		return nil
	}))
}
