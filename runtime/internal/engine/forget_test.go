package engine_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

var errOver = errors.New("over")

// in returns an address in a context.
func in(context uint32, peer, tag int) engine.Match {
	return engine.Match{Context: context, Peer: peer, Tag: tag}
}

// TestForgetDropsMessages checks that Forget drops the messages of a context and ends the sends
// that wait for their receivers, and that messages of other contexts remain.
func TestForgetDropsMessages(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	a, b := w.engines[0], w.engines[1]
	big := make([]byte, 1<<16+1)
	var left []engine.Handle
	// Both ranks send to b.
	for _, e := range w.engines {
		for context := range uint32(2) {
			left = append(left,
				e.Isend(in(context, 1, 1), 0, pattern(40, int(context)), engine.Standard),
				e.Isend(in(context, 1, 2), 0, big, engine.Standard),
				e.Isend(in(context, 1, 3), 0, pattern(9, 3), engine.Synchronous))
		}
	}
	soonTrue(t, func() bool { b.Poll(); return len(b.Unreceived()) == 12 })
	b.Forget(func(context uint32) bool { return context == 0 }, errOver)
	require.Len(t, b.Unreceived(), 6)
	for i, h := range left {
		if i%6 >= 3 || i%3 == 0 {
			continue
		}
		_, err := h.Wait(none)
		require.ErrorIs(t, err, engine.ErrForgotten, "%d", i)
	}
	for source := range w.engines {
		for tag := 1; tag <= 3; tag++ {
			_, err := b.Recv(none, in(1, source, tag), 0, make([]byte, 1<<16+1))
			require.NoError(t, err)
		}
	}
	for i, h := range left {
		if i%6 >= 3 || i%3 == 0 {
			_, err := h.Wait(none)
			require.NoError(t, err, "%d", i)
		}
	}
	held, messages := b.Held()
	require.Zero(t, messages)
	require.Less(t, held, 1<<10)
	require.NoError(t, a.Down(1))
	require.NoError(t, b.Down(0))
}

// TestForgetEndsWhatWaits checks that Forget ends the receives and probes that wait. Forget also ends
// the effect of an earlier Break.
func TestForgetEndsWhatWaits(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	named, wild := e.Irecv(in(5, 1, 1), 0, nil), e.Irecv(in(5, engine.AnySource, engine.AnyTag), 0, nil)
	other := e.Irecv(in(6, 1, 1), 0, make([]byte, 9))
	probed := make(chan error, 1)
	go func() {
		_, err := e.Probe(none, in(5, 1, 2))
		probed <- err
	}()
	soonTrue(t, func() bool { return len(e.Blocked()) == 1 })
	e.Break(4, errBroken)
	e.Break(7, errBroken)
	e.Forget(func(context uint32) bool { return context == 5 || context == 7 }, errOver)
	for _, h := range []engine.Handle{named, wild} {
		_, err := h.Wait(none)
		require.ErrorIs(t, err, errOver)
	}
	require.ErrorIs(t, <-probed, errOver)
	require.ErrorIs(t, e.Send(none, in(4, 1, 1), 0, nil, engine.Standard), errBroken)
	// Operations after Forget work as in a new context, while a lower context is still broken.
	again := e.Irecv(in(7, 1, 1), 0, make([]byte, 9))
	for _, context := range []uint32{6, 7} {
		require.NoError(t, w.engines[1].Send(none, in(context, 0, 1), 0, pattern(9, 1), engine.Standard))
	}
	for _, h := range []engine.Handle{other, again} {
		s, err := h.Wait(none)
		require.NoError(t, err)
		require.Equal(t, 9, s.Bytes)
	}
}

// TestForgetEndsAcknowledgements checks that the acknowledgement of a loss in a context does not
// hold in a later context with the same number.
func TestForgetEndsAcknowledgements(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	e.MarkDown(1, errBroken)
	var lost *engine.PeerError
	receive := func() error {
		h := e.Irecv(in(5, engine.AnySource, 1), 0, nil)
		defer h.Cancel()
		if !h.Look() {
			return nil
		}
		_, err := h.Wait(none)
		return err
	}
	require.ErrorAs(t, receive(), &lost)
	e.Acknowledge(5, []int{1})
	require.NoError(t, receive())
	e.Forget(func(context uint32) bool { return context == 4 }, errOver)
	require.NoError(t, receive())
	e.Forget(func(context uint32) bool { return context == 5 }, errOver)
	require.ErrorAs(t, receive(), &lost)
}

// TestCloseContexts checks that operations that begin in a closed context are refused until the
// context is forgotten.
func TestCloseContexts(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	// After this send, later sends can complete at once.
	require.NoError(t, e.Send(none, in(4, 1, 1), 0, nil, engine.Standard))
	posted := e.Irecv(in(5, 1, 1), 0, nil)
	e.Break(6, errBroken)
	e.CloseContexts(errOver, 5, 6)
	_, err := posted.Wait(none)
	require.ErrorIs(t, err, errOver)
	for context, want := range map[uint32]error{5: errOver, 6: errOver} {
		_, err = e.Recv(none, in(context, 1, 1), 0, nil)
		require.ErrorIs(t, err, want)
		require.ErrorIs(t, e.Send(none, in(context, 1, 1), 0, nil, engine.Standard), want)
		_, err = e.Probe(none, in(context, engine.AnySource, engine.AnyTag))
		require.ErrorIs(t, err, want)
	}
	for _, context := range []uint32{4, 7} { // contexts below and above the closed ones
		require.NoError(t, e.Send(none, in(context, 0, 1), 0, nil, engine.Standard))
		_, err = e.Recv(none, in(context, 0, 1), 0, nil)
		require.NoError(t, err)
	}
	e.Forget(func(context uint32) bool { return context == 5 }, errOver)
	require.NoError(t, e.Send(none, in(5, 0, 1), 0, nil, engine.Standard))
	_, err = e.Recv(none, in(5, 0, 1), 0, nil)
	require.NoError(t, err)
	_, err = e.Recv(none, in(6, 1, 1), 0, nil)
	require.ErrorIs(t, err, errOver)
}

// TestMessagesForClosedContexts checks that a message that arrives in a closed context is
// dropped, and that its sender does not wait for the match.
func TestMessagesForClosedContexts(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	a, b := w.engines[0], w.engines[1]
	b.CloseContexts(errOver, 5)
	require.ErrorIs(t, a.Send(none, in(5, 1, 1), 0, nil, engine.Synchronous), engine.ErrForgotten)
	require.ErrorIs(t, a.Send(none, in(5, 1, 1), 0, make([]byte, 1<<16), engine.Standard), engine.ErrForgotten)
	// More messages than the credit: messages that wait for credit are dropped too.
	for range 100 {
		if err := a.Send(none, in(5, 1, 1), 0, make([]byte, 4096), engine.Standard); err != nil {
			require.ErrorIs(t, err, engine.ErrForgotten)
		}
	}
	require.NoError(t, a.Send(none, in(6, 1, 1), 0, nil, engine.Standard))
	_, err := b.Recv(none, in(6, 0, 1), 0, nil)
	require.NoError(t, err)
	require.Empty(t, b.Unreceived())
	held, messages := b.Held()
	require.Zero(t, messages)
	require.Less(t, held, 1<<10)
	b.Forget(func(context uint32) bool { return context == 5 }, errOver)
	require.NoError(t, a.Send(none, in(5, 1, 1), 0, nil, engine.Standard))
	_, err = b.Recv(none, in(5, 0, 1), 0, nil)
	require.NoError(t, err)
}

// TestAbortedEnginesForgetInSilence checks that a rank that was aborted drops messages without
// notifying their senders.
func TestAbortedEnginesForgetInSilence(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	a, b := w.engines[0], w.engines[1]
	send := a.Isend(in(5, 1, 1), 0, pattern(9, 3), engine.Synchronous)
	soonTrue(t, func() bool { b.Poll(); return len(b.Unreceived()) == 1 })
	b.Abort(errOver)
	b.CloseContexts(errOver, 5)
	require.Empty(t, b.Unreceived())
	for range 10 {
		b.Poll()
		a.Poll()
	}
	_, done, _ := send.Test()
	require.False(t, done)
	a.Abort(errBroken)
	_, err := send.Wait(none)
	require.ErrorIs(t, err, errBroken)
}

// TestForgetAfterAbort checks that Forget does not end the sends of a rank to itself that Abort has ended. Their
// records may be those of later operations, which have to end with the error of Abort.
func TestForgetAfterAbort(t *testing.T) {
	e, err := engine.New(engine.Config{Size: 1})
	require.NoError(t, err)
	defer e.Close()
	h := e.Isend(in(4, 0, 1), 0, nil, engine.Synchronous)
	e.Abort(errBroken)
	_, err = h.Wait(none)
	require.ErrorIs(t, err, errBroken)
	e.Forget(func(uint32) bool { return true }, errOver)
	_, err = e.Recv(none, in(4, 0, 1), 0, nil)
	require.ErrorIs(t, err, errBroken)
}
