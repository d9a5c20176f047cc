//go:build !race

package actors_test

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestTellAllocatesNothing checks that a Tell to another rank allocates nothing at the sender. The
// messages are short and long runtime.Messages, and plain data and bytes that are already boxed in
// an interface. The receiver runs in the same process, so its allocations would be counted too.
// Therefore the receiver's actor is blocked during the measurement, and the minimum of several runs
// counts, because the receiver's background goroutine polls during some runs.
func TestTellAllocatesNothing(t *testing.T) {
	for _, way := range []string{"shm", "rdma"} {
		t.Run(way, func(t *testing.T) {
			t.Setenv(bootstrap.EnvTransport, way)
			testTellAllocates(t)
		})
	}
}

func testTellAllocates(t *testing.T) {
	t.Helper()
	// The messages of a round take at most half of the credit, because possibly the receiver has
	// not returned the other half yet. On a busy machine the receiver may poll during some
	// rounds, but not during all.
	const rounds, tries, runs = 20, 5, 4
	gate := make(chan struct{})
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		if w.Rank() == 1 {
			_, err := s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				switch m := c.Message().(type) {
				case *runtime.Message:
					m.Close()
				case bool:
					<-gate
				case string:
					c.Respond(m)
				}
			}, s.Inline()), "in")
			return err
		}
		pid := s.PID(1, "in")
		kinds := map[string]func() any{
			"short message": func() any { return message(t, w, 64, 1) },
			"long message":  func() any { return message(t, w, 4096, 1) },
			"plain":         func() any { return &plain{} },
			"bytes":         func() any { return make([]byte, 64) },
		}
		for kind, next := range kinds {
			s.Root.Send(pid, next()) // the first message defines its type
			least := 1e9
			for range rounds {
				var messages []any
				for range tries * (runs + 1) {
					messages = append(messages, next())
				}
				ask(t, s, pid, "ready")
				s.Root.Send(pid, true)
				i := 0
				for range tries {
					least = min(least, testing.AllocsPerRun(runs, func() {
						s.Root.Send(pid, messages[i])
						i++
					}))
				}
				gate <- struct{}{}
				if least == 0 {
					break
				}
			}
			require.Zero(t, least, kind)
		}
		ask(t, s, pid, "done")
		return nil
	}))
}
