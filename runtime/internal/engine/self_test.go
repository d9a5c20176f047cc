package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestAbortEndsSendsToItself checks that an abort ends the sends of a rank to itself that were
// not matched, or that were taken by a matched probe.
func TestAbortEndsSendsToItself(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	ends := make(chan error, 4)
	go func() { ends <- e.Send(none, at(0, 1), 0, nil, engine.Synchronous) }()
	go func() { ends <- e.Send(none, at(0, 1), 0, make([]byte, 1<<20), engine.Standard) }()
	for len(e.Blocked()) < 2 {
		time.Sleep(100 * time.Microsecond) // interval between two checks
	}
	r := e.Isend(at(0, 1), 0, nil, engine.Synchronous)
	matched := e.Isend(at(0, 2), 0, nil, engine.Synchronous)
	m, err := e.Mprobe(none, at(0, 2))
	require.NoError(t, err)
	reason := errors.New("the job ends")
	e.Abort(reason)
	for range 2 {
		select {
		case err := <-ends:
			require.ErrorIs(t, err, reason)
		case <-time.After(20 * time.Second):
			require.Fail(t, "still waits")
		}
	}
	for _, h := range []engine.Handle{r, matched} {
		_, err = h.Wait(none)
		require.ErrorIs(t, err, reason)
	}
	_, err = m.Recv(none, 0, nil)
	require.ErrorIs(t, err, reason)
}
