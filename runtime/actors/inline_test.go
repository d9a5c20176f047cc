package actors_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors"
)

// waitingCalls has calls that would wait, because the other rank neither sends nor receives.
var waitingCalls = map[string]func(s *actors.System, c *runtime.Comm) error{
	"Send":  func(_ *actors.System, c *runtime.Comm) error { return runtime.Send(c, make([]byte, 1<<20), 1, 0) },
	"Ssend": func(_ *actors.System, c *runtime.Comm) error { return runtime.Ssend(c, make([]byte, 1), 1, 0) },
	"Recv":  func(_ *actors.System, c *runtime.Comm) error { return second(runtime.Recv(c, make([]byte, 1), 1, 0)) },
	"RecvMessage": func(_ *actors.System, c *runtime.Comm) error {
		return second(runtime.RecvMessage(c, runtime.AnySource, 0))
	},
	"RecvStrided": func(_ *actors.System, c *runtime.Comm) error {
		return second(runtime.RecvStrided(c, make([]byte, 4), runtime.Strided{Count: 2, Block: 1, Stride: 2}, 1, 0))
	},
	"Probe": func(_ *actors.System, c *runtime.Comm) error { return second(runtime.Probe(c, 1, 0)) },
	"SendRecv": func(_ *actors.System, c *runtime.Comm) error {
		return second(runtime.SendRecv(c, []byte{1}, 1, 0, make([]byte, 1), 1, 0))
	},
	"SendRecvReplace": func(_ *actors.System, c *runtime.Comm) error {
		return second(runtime.SendRecvReplace(c, make([]byte, 1), 1, 0, 1, 0))
	},
	"Wait": func(_ *actors.System, c *runtime.Comm) error {
		return second(runtime.Irecv(c, make([]byte, 1), 1, 0).Wait())
	},
	"WaitAll": func(_ *actors.System, c *runtime.Comm) error {
		return runtime.WaitAll([]runtime.Request{runtime.Irecv(c, make([]byte, 1), 1, 0)})
	},
	"WaitSome": func(_ *actors.System, c *runtime.Comm) error { return second(runtime.WaitSome(requests(c))) },
	"WaitAny": func(_ *actors.System, c *runtime.Comm) error {
		_, _, err := runtime.WaitAny(requests(c))
		return err
	},
	"Persistent.Wait": func(_ *actors.System, c *runtime.Comm) error {
		p := runtime.RecvInit(c, make([]byte, 1), 1, 0)
		if err := p.Start(); err != nil {
			return err
		}
		return second(p.Wait())
	},
	"Dup":      func(_ *actors.System, c *runtime.Comm) error { return second(c.Dup()) },
	"Split":    func(_ *actors.System, c *runtime.Comm) error { return second(c.Split(0, 0)) },
	"NewGroup": func(s *actors.System, c *runtime.Comm) error { return second(s.NewGroup(c, s.PID(0, "in"))) },
	// A nonblocking collective operation makes such a request.
	"NewRequest": func(_ *actors.System, c *runtime.Comm) error {
		return second(runtime.NewRequest(c, func(c *runtime.Comm) error { return second(runtime.Recv(c, make([]byte, 1), 1, 0)) }).Wait())
	},
	// WaitAll must not drop the request, which continues.
	"WaitAll of NewRequest": func(_ *actors.System, c *runtime.Comm) error {
		rs := []runtime.Request{{}, runtime.NewRequest(c, func(c *runtime.Comm) error {
			return second(runtime.Recv(c, make([]byte, 1), 1, 0))
		})}
		err := runtime.WaitAll(rs)
		if rs[1] == (runtime.Request{}) {
			return errors.New("the request is lost")
		}
		rs[1].Cancel()
		return err
	},
	// The request stays active, so that the second Start fails.
	"NewPersistent": func(_ *actors.System, c *runtime.Comm) error {
		p := runtime.NewPersistent(func() runtime.Request {
			return runtime.NewRequest(c, func(c *runtime.Comm) error { return second(runtime.Recv(c, make([]byte, 1), 1, 0)) })
		})
		if err := p.Start(); err != nil {
			return err
		}
		err := second(p.Wait())
		if again := p.Start(); !errors.Is(again, runtime.ErrRequest) {
			return fmt.Errorf("the second start gives %w", again)
		}
		return err
	},
	"NewShared":  func(_ *actors.System, c *runtime.Comm) error { return second(runtime.NewShared(c, 8)) },
	"Register":   func(s *actors.System, _ *runtime.Comm) error { return s.RegisterName("name", s.PID(0, "in")) },
	"Unregister": func(s *actors.System, _ *runtime.Comm) error { return s.UnregisterName("name") },
	"Lookup":     func(s *actors.System, _ *runtime.Comm) error { return second(s.LookupName("name")) },
}

// second returns the error and drops the result.
func second[T any](_ T, err error) error { return err }

// requests returns a receive that never completes.
func requests(c *runtime.Comm) []runtime.Request {
	return []runtime.Request{runtime.Irecv(c, make([]byte, 1), 1, 0)}
}

// TestInlineHandlersCannotWait checks that every call that would wait fails at once in an inline
// handler.
func TestInlineHandlersCannotWait(t *testing.T) {
	t.Run("memory", testInlineHandlers)
	t.Run("network", func(t *testing.T) { overNetwork(t); testInlineHandlers(t) })
}

func testInlineHandlers(t *testing.T) {
	t.Helper()
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		s, err := actors.Of(w)
		require.NoError(t, err)
		names := slices.Sorted(maps.Keys(waitingCalls))
		comms := make(map[string]*runtime.Comm)
		for _, name := range names {
			comms[name], err = w.Comm().Dup()
			require.NoError(t, err)
		}
		if w.Rank() == 1 {
			return nil
		}
		errs := make(chan error, 1)
		_, err = s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if name, ok := c.Message().(string); ok {
				errs <- waitingCalls[name](s, comms[name])
			}
		}, s.Inline()), "in")
		require.NoError(t, err)
		for _, name := range names {
			s.Root.Send(s.PID(0, "in"), name)
			require.ErrorIs(t, next(t, errs), runtime.ErrInline, name)
		}
		return nil
	}))
}
