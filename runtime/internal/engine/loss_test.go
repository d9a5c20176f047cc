package engine_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

func TestAnySourceEndsUntilTheDeathIsAcknowledged(t *testing.T) {
	var lost []int
	w := newWorldOf(t, 4, transporttest.FakeOptions{}, false, func(c *engine.Config) {
		if c.Rank == 0 {
			c.Lost = func(peer int, _ error) { lost = append(lost, peer) }
			c.Member = func(number uint32, _ int) bool { return number != 9 }
		}
	})
	e := w.engines[0]
	anyOf := func(number uint32) engine.Handle {
		return e.Irecv(engine.Match{Context: number, Peer: engine.AnySource, Tag: 1}, 0, make([]byte, 4))
	}
	a, b, foreign := anyOf(1), anyOf(1), anyOf(9)
	named := e.Irecv(engine.Match{Context: 9, Peer: 2, Tag: 1}, 0, nil)
	w.fake.Kill(2, errors.New("killed"))
	require.Eventually(t, func() bool { e.Iprobe(at(1, 9)); return len(lost) == 1 }, 1e10, 1)
	require.Equal(t, []int{2}, lost)

	var down *engine.PeerError
	// Two receives that wait, and a receive that starts after the loss.
	for _, r := range []engine.Handle{a, b, anyOf(1)} {
		_, err := w.finish(t, r)
		require.ErrorAs(t, err, &down)
		require.Equal(t, 2, down.Rank)
		require.ErrorIs(t, err, transport.ErrPeerDown)
	}
	_, err := w.finish(t, named)
	require.ErrorAs(t, err, &down)
	require.False(t, foreign.Done(), "rank 2 is no member of context 9")
	e.Acknowledge(1, []int{2})
	b = anyOf(1)
	require.False(t, b.Done())

	// Context 2 has not acknowledged the loss. Its next receive ends with the loss if it finds no
	// message.
	require.NoError(t, w.engines[1].Send(none, engine.Match{Context: 2, Peer: 0, Tag: 1}, 0, []byte("m"), engine.Standard))
	for range 10 {
		e.Iprobe(at(1, 9))
	}
	_, err = w.finish(t, anyOf(2))
	require.NoError(t, err)
	_, err = w.finish(t, anyOf(2))
	require.ErrorAs(t, err, &down)
	// Rank 1 is acknowledged before it dies.
	e.Acknowledge(2, []int{2, 1})
	c := anyOf(2)
	require.False(t, c.Done())

	// Receives from the survivors continue.
	for _, r := range []struct {
		r engine.Handle
		c uint32
	}{{b, 1}, {c, 2}, {foreign, 9}} {
		require.NoError(t, w.engines[3].Send(none, engine.Match{Context: r.c, Peer: 0, Tag: 1}, 0, []byte("live"), engine.Standard))
		s, err := w.finish(t, r.r)
		require.NoError(t, err)
		require.Equal(t, 3, s.Source)
	}
}

func TestWhatArrivedBeforeTheDeathStaysReceivable(t *testing.T) {
	w := newWorldOf(t, 2, transporttest.FakeOptions{NoPut: true}, false, nil)
	e := w.engines[0]
	small := w.engines[1].Isend(at(0, 1), 0, pattern(20, 1), engine.Standard)
	long := w.engines[1].Isend(at(0, 1), 0, pattern(20_000, 1), engine.Standard)
	w.step(10)
	w.fake.Kill(1, errors.New("killed"))
	for range 50 {
		e.Iprobe(nowhere)
	}
	in := make([]byte, 20_000)
	s, err := e.Recv(none, at(1, 1), 0, in)
	require.NoError(t, err)
	require.Equal(t, pattern(20, 1), in[:s.Bytes])
	_, err = e.Recv(none, at(1, 1), 0, in) // the bytes of this message are lost
	var down *engine.PeerError
	require.ErrorAs(t, err, &down)
	_, err = e.Probe(none, at(1, 1))
	require.ErrorAs(t, err, &down)
	_, err = e.SendHandover(none, at(1, 1), 0, transport.Key{}, nil)
	require.Error(t, err)
	for _, r := range []engine.Handle{small, long} {
		r.Cancel()
	}
}

func TestMarkDownEndsWhoWaits(t *testing.T) {
	w := newWorld(t, 3, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // ends a hang
	defer cancel()
	anybody := engine.Match{Context: 2, Peer: engine.AnySource, Tag: 1}
	waits := []func() error{
		func() error { _, err := e.Recv(ctx, at(1, 1), 0, nil); return err },
		func() error { _, err := e.Probe(ctx, at(1, 2)); return err },
		func() error { _, err := e.Mprobe(ctx, at(1, 3)); return err },
		func() error { _, err := e.Probe(ctx, anybody); return err },
	}
	done := make(chan error, len(waits))
	for _, wait := range waits {
		go func() { done <- wait() }()
	}
	for len(e.Blocked()) < len(waits) {
		goruntime.Gosched()
	}
	cause := errors.New("signal 9")
	e.MarkDown(1, cause)
	for range waits {
		require.ErrorIs(t, <-done, cause)
	}
	r := e.Irecv(at(2, 1), 0, nil)
	require.NoError(t, w.engines[2].Send(none, at(0, 1), 0, nil, engine.Synchronous))
	_, err := r.Wait(none)
	require.NoError(t, err)
}

// TestLossTakesTheMessageOfAProbe wakes a probe for a message whose sender is lost in the same
// poll. The message was dropped because of the loss before the probe could look. The probe must
// return the loss.
func TestLossTakesTheMessageOfAProbe(t *testing.T) {
	for name, from := range map[string]engine.Match{"named": at(1, 9), "any": {Context: 1, Peer: engine.AnySource, Tag: engine.AnyTag}} {
		t.Run(name, func(t *testing.T) {
			s, e := newStranger(t)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // ends a hang
			defer cancel()
			done := make(chan error, 1)
			go func() { _, err := e.Probe(ctx, from); done <- err }()
			for len(e.Blocked()) == 0 {
				goruntime.Gosched()
			}
			// One poll finds the message and the loss.
			require.NoError(t, e.Await(none, func() bool {
				s.frames = append(s.frames, strange{peer: 1, h: transport.Header{A: 2 | 1<<32, B: 9}, body: make([]byte, 24)})
				s.down = append(s.down, 1)
				return true
			}, "tell"))
			var down *engine.PeerError
			require.ErrorAs(t, <-done, &down)
			require.Equal(t, 1, down.Rank)
		})
	}
}

// TestMarkDownAfterLoss checks that the transport is told of the end of a peer that the engine
// had declared to be down before.
func TestMarkDownAfterLoss(t *testing.T) {
	s, e := newStranger(t)
	s.MarkDown(1, transport.ErrDamaged)
	_, err := e.Recv(none, at(1, 1), 0, nil)
	require.ErrorIs(t, err, transport.ErrDamaged)
	require.Empty(t, s.down)
	e.MarkDown(1, errors.New("signal 9"))
	require.Equal(t, []int{1}, s.down)
	require.Empty(t, s.causes, "the process has ended, so the peer is not only given up")
	// Nothing is told about this rank itself.
	e.MarkDown(0, errors.New("signal 9"))
	require.Equal(t, []int{1}, s.down)
}

// TestGiveUp checks that GiveUp ends the waits for a peer, and does not tell the transport that the process has ended.
func TestGiveUp(t *testing.T) {
	s, e := newStranger(t)
	cause := errors.New("leaves the World")
	r := e.Irecv(at(1, 1), 0, nil)
	e.GiveUp(1, cause)
	require.Equal(t, []error{cause}, s.causes)
	_, err := r.Wait(none)
	var down *engine.PeerError
	require.ErrorAs(t, err, &down)
	require.Equal(t, 1, down.Rank)
}

// TestStatusOfAReceiveWithoutAMessage checks that a receive which ends before the match has an empty
// Status, although its record was used for a message before.
func TestStatusOfAReceiveWithoutAMessage(t *testing.T) {
	cause := errors.New("the test ends it")
	ends := map[string]func(w *world, r engine.Handle){
		"cancellation":       func(_ *world, r engine.Handle) { r.Cancel() },
		"death of the peer":  func(w *world, _ engine.Handle) { w.engines[0].MarkDown(1, cause) },
		"end of the context": func(w *world, _ engine.Handle) { w.engines[0].Break(1, cause) },
		"end of the engine":  func(w *world, _ engine.Handle) { w.engines[0].Abort(cause) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
			e := w.engines[0]
			require.NoError(t, w.engines[1].Send(none, at(0, 3), 5, []byte("before"), engine.Standard))
			s, err := e.Recv(none, at(1, 3), 5, make([]byte, 6))
			require.NoError(t, err)
			require.Equal(t, engine.Status{Source: 1, Tag: 3, Bytes: 6, Type: 5}, s)
			r := e.Irecv(at(1, 4), 5, make([]byte, 6))
			end(w, r)
			s, err = r.Wait(none)
			require.Error(t, err)
			require.Equal(t, engine.Status{}, s)
		})
	}
}

// TestLossDuringATruncatedMessage loses the sender of a message that is longer than the buffer while its
// bytes are still to come. The receive must return the loss, not the truncation.
func TestLossDuringATruncatedMessage(t *testing.T) {
	s, e := newStranger(t)
	r := e.Irecv(at(1, 9), 0, make([]byte, 100))
	announced := make([]byte, 24)
	announced[0] = 200
	s.frames = []strange{{peer: 1, h: transport.Header{A: 2 | 1<<32, B: 9}, body: announced}}
	e.Iprobe(nowhere)
	require.Len(t, s.sent, 1, "it asks for the bytes")
	s.down = []int{1}
	status, err := r.Wait(none)
	var down *engine.PeerError
	require.ErrorAs(t, err, &down)
	require.Equal(t, engine.Status{Source: 1, Tag: 9}, status)
}

// TestLossOfHandedOverMemory loses a peer whose memory the transport does not map any more. The receive of
// that memory must return the loss, not the error of the transport.
func TestLossOfHandedOverMemory(t *testing.T) {
	receives := map[string]func(e *engine.Engine) error{
		"RecvMessage": func(e *engine.Engine) error { _, err := e.RecvMessage(none, at(1, 9)); return err },
		"Recv":        func(e *engine.Engine) error { _, err := e.Recv(none, at(1, 9), 0, make([]byte, 8)); return err },
	}
	for name, receive := range receives {
		s, e := newStranger(t)
		handedOver := make([]byte, 24)
		handedOver[2] = 2 // more bytes than a stranger maps
		frame := strange{peer: 1, h: transport.Header{A: 3 | 1<<32, B: 9}, body: handedOver}
		s.frames = []strange{frame, frame}
		e.Iprobe(nowhere)
		var down *engine.PeerError
		err := receive(e)
		require.ErrorIs(t, err, transport.ErrBadKey, name)
		require.NotErrorAs(t, err, &down, name)
		s.down = []int{1}
		e.Iprobe(nowhere)
		require.ErrorAs(t, receive(e), &down, name)
		require.Equal(t, 1, down.Rank, name)
	}
}

// TestAbortRefusesLaterSends aborts while frames are queued. When the queue of the peer has been handled,
// small messages must not take the fast path again.
func TestAbortRefusesLaterSends(t *testing.T) {
	w := newWorldOf(t, 2, transporttest.FakeOptions{RingMessages: 2}, false, nil)
	e := w.engines[0]
	var queued []engine.Handle
	for range 10 {
		queued = append(queued, e.Isend(at(1, 1), 0, pattern(100, 1), engine.Standard))
	}
	require.NotEqual(t, engine.Handle{}, queued[9], "the lane is full")
	reason := errors.New("the job ends")
	e.Abort(reason)
	for range 3 {
		require.ErrorIs(t, e.Send(none, at(1, 1), 0, pattern(100, 1), engine.Standard), reason)
		w.engines[1].Iprobe(nowhere)
		e.Poll()
	}
}
