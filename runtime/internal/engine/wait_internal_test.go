package engine

import (
	"context"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLateContextDoesNotEndTheNextWait checks a context that ends after its wait, when the next
// wait with the same record has already begun. The next wait must continue.
func TestLateContextDoesNotEndTheNextWait(t *testing.T) {
	e, err := New(Config{Size: 1, Wait: WaitPolicy{Spin: time.Hour}})
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	looks := 0
	// 1000 is more than the number of calls of done before waitLong.
	w := &waiter{done: func() bool { looks++; return looks > 1000 }}
	first := w.era
	e.lock()
	require.NoError(t, e.wait(t.Context(), w))
	e.unlock()
	require.Greater(t, looks, 1000)

	w.done = func() bool { return false }
	e.expire(ended, w, first)
	require.False(t, w.over(), "by a context of the wait before")
	e.expire(ended, w, w.era)
	require.ErrorIs(t, w.err, context.Canceled)

	e.freeWaiter(w)
	again := e.newWaiter()
	require.Same(t, w, again)
	again.done = func() bool { return false }
	e.expire(ended, again, first+1)
	require.False(t, again.over(), "by a context of an earlier wait with the record")
	require.NoError(t, e.Close())
}

// TestBreakWhileAProbeWakes wakes a probe for a message that another goroutine has taken. If Break
// has ended the probes of the context meanwhile, the probe must return the error of Break.
func TestBreakWhileAProbeWakes(t *testing.T) {
	e, err := New(Config{Size: 1})
	require.NoError(t, err)
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // ends a hang
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := e.Probe(ctx, Match{Context: 1, Peer: 0, Tag: 1}); done <- err }()
	for len(e.Blocked()) == 0 {
		goruntime.Gosched()
	}
	e.lock()
	for _, w := range e.probing {
		e.fire(w)
	}
	e.bar(1, ErrAddress)
	e.unlock()
	require.ErrorIs(t, <-done, ErrAddress)
}
