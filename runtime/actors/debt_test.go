package actors_test

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// The credit of messages that an actor has taken is the sender's again as soon as
// half of the window has come together, although the actor is still at the last of
// them.
func TestCreditReturnsWhileAnActorIsAtWork(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		const length, overhead = 1000, 128
		const cost = length + overhead
		const half = (engine.LinkWindow/2 + cost - 1) / cost
		const n = (half*cost + engine.LinkWindow) / cost
		gate, got := make(chan struct{}), make(chan any, n)
		taken := 0
		_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if m, ok := c.Message().([]byte); ok {
				if taken++; taken == half {
					<-gate
				}
				got <- len(m)
			}
		}), "busy")
		require.NoError(t, err)
		sent := make(chan any)
		go func() {
			for range n {
				all[0].Root.Send(all[0].PID(1, "busy"), make([]byte, length))
			}
			close(sent)
		}()
		next(t, sent)
		close(gate)
		for range n {
			require.Equal(t, length, next(t, got))
		}
	})
}
