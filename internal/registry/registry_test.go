package registry_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/registry"
)

// TestShrink checks that actors that were in the table before Shrink are found by name, can be stopped, and
// are not found afterwards. The same must hold for actors that are spawned after Shrink.
func TestShrink(t *testing.T) {
	s := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	defer s.Shutdown()
	const each = 2000
	spawn := func(from, to int) {
		for i := from; i < to; i++ {
			_, err := s.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
				if m, ok := c.Message().(int); ok {
					c.Respond(m)
				}
			}), fmt.Sprint("a", i))
			require.NoError(t, err)
		}
	}
	spawn(0, each)
	registry.Shrink(s)
	require.Len(t, s.ProcessRegistry.LocalPIDs.LocalPIDs, registry.Buckets)
	_, ok := s.ProcessRegistry.GetLocal("eventstream")
	require.True(t, ok)
	registry.Shrink(s) // a second call changes nothing
	spawn(each, 2*each)
	for i := range 2 * each {
		name := fmt.Sprint("a", i)
		_, err := s.Root.SpawnNamed(actor.PropsFromFunc(func(actor.Context) {}), name)
		require.ErrorIs(t, err, actor.ErrNameExists)
		answer, err := s.Root.RequestFuture(s.NewLocalPID(name), i, -1).Result()
		require.NoError(t, err)
		require.Equal(t, i, answer)
		require.NoError(t, s.Root.StopFuture(s.NewLocalPID(name)).Wait())
		_, ok := s.ProcessRegistry.GetLocal(name)
		require.False(t, ok)
	}
}

// TestDeadLettersAreLogged checks that a single dead letter is logged.
func TestDeadLettersAreLogged(t *testing.T) {
	var text bytes.Buffer
	s := registry.NewSystem(slog.New(slog.NewTextHandler(&text, nil)))
	defer s.Shutdown()
	s.Root.Send(s.NewLocalPID("none"), "a letter")
	require.Contains(t, text.String(), `message="a letter"`)
}
