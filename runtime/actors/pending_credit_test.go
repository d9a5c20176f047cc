package actors_test

import (
	goruntime "runtime"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// TestCreditReturnsWhileAnActorIsAtWork checks that the credit of the messages that an actor has
// taken is returned to the sender as soon as it is half of the window. The sender must not have to
// wait until the actor has handled the last of these messages.
func TestCreditReturnsWhileAnActorIsAtWork(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		const length, overhead = 1000, 128
		const cost = length + overhead
		const half = (engine.StreamWindow/2 + cost - 1) / cost
		const n = (half*cost + engine.StreamWindow) / cost
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

// TestCreditOfAnActorThatHasStopped checks the credit of messages that an actor handled before it
// stopped. This credit is returned although it is less than half of the window and although later
// messages do not reach the actor.
func TestCreditOfAnActorThatHasStopped(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		const overhead = 128
		const short, before = 1000, engine.StreamWindow * 2 / 5 / (1000 + overhead)
		// Two long messages and the messages before them fit into the window, three long messages
		// do not. The credit of two long messages is less than half of the window. So their credit
		// alone would not cause a report to the sender.
		const long, after = engine.StreamWindow/4 - 2*overhead, 20
		taken := 0
		_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().([]byte); ok {
				if taken++; taken == before {
					c.Stop(c.Self())
				}
			}
		}), "ends")
		require.NoError(t, err)
		dead := letters(all[1])
		to := all[0].PID(1, "ends")
		for range before {
			all[0].Root.Send(to, make([]byte, short))
		}
		for all[1].Lives("ends") {
			goruntime.Gosched()
		}
		sent := make(chan any)
		go func() {
			for range after {
				all[0].Root.Send(to, make([]byte, long))
			}
			close(sent)
		}()
		next(t, sent)
		for range after {
			require.ErrorIs(t, next(t, dead), actors.ErrStopped)
		}
	})
}
