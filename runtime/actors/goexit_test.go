package actors_test

import (
	goruntime "runtime"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestGoexitOfAnActor checks that runtime.Goexit in an actor of a worker counts as a failure of the actor: the actor is
// restarted and handles its next messages. Goexit ends workers and, because some of the messages come from another
// rank, one of the two serving goroutines.
func TestGoexitOfAnActor(t *testing.T) {
	_, all := fake(t, 2, transporttest.FakeOptions{}, nil)
	starts := make(chan bool, 1000)
	_, err := all[1].Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			starts <- true
		case string:
			goruntime.Goexit()
		case int:
			c.Respond(m)
		}
	}), "x")
	require.NoError(t, err)
	next(t, starts)
	for range 4 { // protoactor stops an actor that fails more than ten times
		for _, s := range all {
			pid := s.PID(1, "x")
			s.Root.Send(pid, "exit")
			next(t, starts)
			ask(t, s, pid, 1)
		}
	}
}
