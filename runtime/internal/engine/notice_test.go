package engine_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

func TestNoticeReachesThePeer(t *testing.T) {
	type notice struct {
		source, number int
		text           string
	}
	heard := make(chan notice, 1)
	w := newWorld(t, 2, transporttest.FakeOptions{}, func(c *engine.Config) {
		c.Notice = func(source, number int, text []byte) { heard <- notice{source, number, string(text)} }
	})
	w.engines[0].Notify(1, 7, []byte("seven"))
	require.Equal(t, notice{0, 7, "seven"}, <-heard)
	w.engines[0].Notify(1, 8, []byte(strings.Repeat("x", 1000)))
	require.Len(t, (<-heard).text, 256)
	// A notice to the rank itself, or to a rank that does not exist, has no effect.
	w.engines[0].Notify(0, 1, nil)
	w.engines[0].Notify(5, 1, nil)
}

// TestBreakEndsTheOperationsOfAContext checks that Break ends every kind of operation of its context,
// whether the operation was started before or after Break. Break must end no operation of another
// context.
func TestBreakEndsTheOperationsOfAContext(t *testing.T) {
	broken := errors.New("broken")
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	there := engine.Match{Context: 5, Peer: 1, Tag: 0}
	self := engine.Match{Context: 5, Peer: 0, Tag: 0}
	calls := map[string]func() error{
		"receive": func() error { _, err := e.Recv(none, there, 0, nil); return err },
		"any source": func() error {
			_, err := e.Recv(none, engine.Match{Context: 5, Peer: engine.AnySource, Tag: 1}, 0, nil)
			return err
		},
		"probe":        func() error { _, err := e.Probe(none, there); return err },
		"rendezvous":   func() error { return e.Send(none, there, 0, make([]byte, 1<<20), engine.Standard) },
		"synchronous":  func() error { return e.Send(none, there, 0, nil, engine.Synchronous) },
		"send to self": func() error { return e.Send(none, self, 0, nil, engine.Synchronous) },
	}
	ended := make(chan error)
	for _, call := range calls {
		go func() { ended <- call() }()
	}
	other := e.Irecv(engine.Match{Context: 6, Peer: 1, Tag: 0}, 0, nil)
	require.Eventually(t, func() bool { return len(e.Blocked()) == len(calls) }, 10*time.Second, time.Millisecond)
	e.Break(5, broken)
	e.Break(5, errors.New("later"))
	for range calls {
		require.ErrorIs(t, <-ended, broken)
	}
	for name, call := range calls {
		require.ErrorIs(t, call(), broken, name)
	}
	require.False(t, other.Done())
	require.NoError(t, w.engines[1].Send(none, engine.Match{Context: 6, Peer: 0, Tag: 0}, 0, nil, engine.Standard))
	_, err := other.Wait(none)
	require.NoError(t, err)
}

// TestBlockedShowsTheStack checks that the stack in the report of a sleeping goroutine contains the
// function of the caller.
func TestBlockedShowsTheStack(t *testing.T) {
	w := newWorld(t, 1, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- callerInTheTest(ctx, e) }()
	var list []engine.Blocked
	require.Eventually(t, func() bool {
		list = e.Blocked()
		return len(list) == 1 && list[0].Stack != nil
	}, 10*time.Second, time.Millisecond)
	var names []string
	frames := goruntime.CallersFrames(list[0].Stack)
	for more := true; more; {
		var f goruntime.Frame
		f, more = frames.Next()
		names = append(names, f.Function)
	}
	require.Contains(t, strings.Join(names, "\n"), "engine_test.callerInTheTest")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

//go:noinline
func callerInTheTest(ctx context.Context, e *engine.Engine) error {
	_, err := e.Recv(ctx, engine.Match{Context: 1, Peer: 0, Tag: 0}, 0, nil)
	return err
}
