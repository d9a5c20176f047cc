//go:build !race

package actors_test

import (
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
)

// TestExampleReceiveTimeout runs examples/actor-receivetimeout. The test is not built with the race
// detector, which would find a race in protoactor. The timer goroutine and the actor write the same
// fields of the actor's context without a lock (SetReceiveTimeout and receiveTimeoutHandler in
// actor_context.go). The race appears when a message takes longer than the timeout.
func TestExampleReceiveTimeout(t *testing.T) {
	local(t, 2, actors.Config{}, func(all []*actors.System) {
		in := inbox(t, all[0], "in", all[0].Worker())
		pid := all[1].Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actor.PID:
				c.SetReceiveTimeout(time.Millisecond)
				c.Send(m, "set")
			case *actor.ReceiveTimeout:
				c.CancelReceiveTimeout()
				c.Send(all[1].PID(0, "in"), "timeout")
			}
		}))
		all[0].Root.Send(far(pid), all[0].PID(0, "in"))
		require.Equal(t, "set", next(t, in))
		require.Equal(t, "timeout", next(t, in))
	})
}
