package actors

import (
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// listing returns the result of System.Actors in a system with a router. It calls two functions: before at the
// beginning, and meanwhile when System.Actors waits for the router.
func listing(t *testing.T, before, meanwhile func(s *System)) []Actor {
	t.Helper()
	var list []Actor
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		s, err := Of(w)
		require.NoError(t, err)
		_, err = s.Route(Broadcast, "router")
		require.NoError(t, err)
		before(s)
		process, _ := s.ProcessRegistry.GetLocal("router")
		r := process.(*router)
		r.mu.Lock()
		listed := make(chan []Actor, 1)
		go func() { listed <- s.Actors() }()
		stacks := make([]byte, 1<<20)
		for !strings.Contains(string(stacks[:goruntime.Stack(stacks, true)]), "(*router).members") {
			goruntime.Gosched()
		}
		meanwhile(s)
		r.mu.Unlock()
		list = <-listed
		return nil
	}))
	return list
}

// TestListingLeavesTheRegistryFree checks that System.Actors, while it waits for a router, does not lock the registry.
// The router may itself wait for the registry, to remove the requests that have ended.
func TestListingLeavesTheRegistryFree(t *testing.T) {
	free := false
	list := listing(t, func(*System) {}, func(s *System) {
		part := s.ProcessRegistry.LocalPIDs.GetBucket("router").GetShard("router")
		if free = part.TryLock(); free {
			part.Unlock()
		}
	})
	require.Len(t, list, 2)
	require.True(t, free)
}

// TestListingDuringAnEnd ends actors while System.Actors waits for a router. An actor that has ended must not be listed
// as an actor with a custom mailbox.
func TestListingDuringAnEnd(t *testing.T) {
	var pids []*actor.PID
	list := listing(t, func(s *System) {
		for range 20 { // the iteration over a map has no order: some come after the router
			pids = append(pids, s.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {}, s.Worker())))
		}
	}, func(s *System) {
		for _, pid := range pids {
			_ = s.Root.StopFuture(pid).Wait()
			for _, there := s.boxes.Load(pid.Id); there; _, there = s.boxes.Load(pid.Id) {
				goruntime.Gosched()
			}
		}
	})
	for _, a := range list {
		require.NotEqual(t, "custom mailbox", a.Kind, a.ID)
	}
}
