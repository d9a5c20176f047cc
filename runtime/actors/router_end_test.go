package actors_test

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestStoppedRouter stops a router. When an actor already has the name of the router, the test stops the router
// again, by Stop and by a PoisonPill. The actor must continue. A Watch of the stopped router must be answered at
// once.
func TestStoppedRouter(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		in := inbox(t, s, "in", s.Worker())
		router, err := s.Route(actors.RoundRobin, "router", s.PID(0, "in"))
		require.NoError(t, err)
		s.Root.Send(router, 1)
		require.Equal(t, 1, next(t, in)) // now the PID has cached the router
		s.Root.Stop(router)
		again := inbox(t, s, "router", s.Worker())
		s.Root.Stop(router)
		s.Root.Poison(router)
		s.Root.Send(s.NewLocalPID("router"), 2)
		require.Equal(t, 2, next(t, again))
		ended := make(chan *actor.Terminated, 2)
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actor.Started:
				c.Watch(router)
			case *actor.Terminated:
				ended <- m
			}
		}), "")
		require.NoError(t, err)
		require.True(t, router.Equal(next(t, ended).Who))
	})
}

// TestRouterEndsForEachWatcherOnce checks that an actor that has watched a router twice gets one Terminated.
func TestRouterEndsForEachWatcherOnce(t *testing.T) {
	local(t, 1, actors.Config{}, func(all []*actors.System) {
		s := all[0]
		in := inbox(t, s, "in", s.Worker())
		router, err := s.Route(actors.RoundRobin, "", s.PID(0, "in"))
		require.NoError(t, err)
		ends, watching := 0, make(chan struct{})
		watcher, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case *actor.Started:
				c.Watch(router)
				c.Watch(router)
				close(watching)
			case *actor.Terminated:
				ends++
			case string:
				c.Send(s.PID(0, "in"), ends)
			}
		}), "")
		require.NoError(t, err)
		<-watching
		s.Root.Stop(router)
		s.Root.Send(watcher, "count") // counted after every Terminated, because an actor handles system messages first
		require.Equal(t, 1, next(t, in))
	})
}
