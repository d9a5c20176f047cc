package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestClosedStreamsGiveTheirNumberBack checks that the number of a closed stream is reused only
// after all frames of the old stream have arrived. So the new stream has a credit of its own.
func TestClosedStreamsGiveTheirNumberBack(t *testing.T) {
	for _, o := range []transporttest.FakeOptions{{}, {Seed: 3, AgainRate: 0.3, ConnectPolls: 10, DelayPolls: 4}} {
		w, c := actorReceivers(t, o)
		e := w.engines[0]
		most := uint32(0)
		want := []string{}
		for i := range 300 {
			first, last := fmt.Sprint("first of ", i), fmt.Sprint("last of ", i)
			l, err := e.NewStream(1, nil, &engine.ActorMessage{}, []byte(first))
			require.NoError(t, err)
			n := l.Number()
			most = max(most, n)
			sent, err := e.SendActorMessage(l, engine.ActorMessage{Stream: n}, nil, []byte(last), engine.StreamWindow)
			require.NoError(t, err)
			require.True(t, sent, "the credit of a new stream")
			want = append(want, first, last)
			soonTrue(t, func() bool { return c[1].count() == len(want) })
			// A grant of credit before the receiver knows of the end has no effect. After the
			// end, the receiver grants no credit.
			over := false
			w.engines[1].Grant(0, n, 2*engine.StreamWindow, &over)
			e.CloseStream(l)
			e.CloseStream(l)
			_, err = e.SendActorMessage(l, engine.ActorMessage{Stream: n}, nil, nil, 0)
			require.ErrorIs(t, err, engine.ErrStreamClosed)
			want = append(want, fmt.Sprint("end of ", n))
			soonTrue(t, func() bool { return c[1].count() == len(want) })
			over = true
			w.engines[1].Grant(0, n, 9*engine.StreamWindow, &over)
		}
		require.Equal(t, want, c[1].bodies)
		require.Less(t, most, uint32(50))
		require.NoError(t, e.Down(1))
	}
}

// TestLinksAreClosedWhenever checks the end of a stream. The end waits for the actor receiver, as
// actor messages do. The end is not reported if the peer is down or after the engine has been
// closed.
func TestLinksAreClosedWhenever(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	e := w.engines[0]
	e.SetActorReceiver(&actorReceiver{})
	open := func() *engine.Stream {
		l, err := e.NewStream(1, nil, &engine.ActorMessage{}, []byte("x"))
		require.NoError(t, err)
		return l
	}
	l := open()
	e.CloseStream(l)
	_, err := w.engines[1].SendActorMessage(func() *engine.Stream {
		l, err := w.engines[1].NewStream(0, nil, nil, nil)
		require.NoError(t, err)
		return l
	}(), engine.ActorMessage{}, nil, nil, 0)
	require.NoError(t, err)
	require.NoError(t, e.Await(none, func() bool { w.engines[1].Poll(); return true }, "look"))
	require.Equal(t, uint32(2), open().Number(), "the end was announced to no rank")
	late := &actorReceiver{}
	w.engines[1].SetActorReceiver(late)
	soonTrue(t, func() bool { return late.count() == 3 })
	require.Equal(t, []string{"x", "end of 1", "x"}, late.bodies)
	last := open()
	soonTrue(t, func() bool { return open().Number() == 1 || last.Number() == 1 })
	w.fake.Kill(1, errors.New("killed"))
	soonTrue(t, func() bool { e.Poll(); return e.Down(1) != nil })
	e.CloseStream(last)
	require.NoError(t, e.Close())
	e.CloseStream(last)
}

// TestReceivesOfMovingBytesEnd checks a receive whose bytes a transport is moving when the engine
// is closed. The receive must not end before the transport has finished, because the memory is
// written until then.
func TestReceivesOfMovingBytesEnd(t *testing.T) {
	b, e := newBomb(t)
	r := e.Irecv(engine.Match{Peer: 1, Tag: 1}, 0, make([]byte, 1000))
	b.announce(0x202, 1000)
	e.Iprobe(engine.Match{Peer: 2, Tag: 1})
	b.done = nil // the Get does not complete
	ends := make(chan error, 1)
	go func() { _, err := r.Wait(none); ends <- err }()
	for len(e.Blocked()) < 1 {
		time.Sleep(100 * time.Microsecond) // interval between two checks
	}
	require.NoError(t, e.Close())
	require.Len(t, e.Blocked(), 1)
	require.Empty(t, ends)
	e.EndMoves()
	select {
	case err := <-ends:
		require.ErrorIs(t, err, engine.ErrClosed)
	case <-time.After(30 * time.Second):
		require.Fail(t, "still waits")
	}
}

// TestNothingIsAskedAfterClose checks that Await does not call its function after Close. After Close
// the engine's owner frees the memory that the function reads.
func TestNothingIsAskedAfterClose(t *testing.T) {
	_, e := newBomb(t)
	require.NoError(t, e.Close())
	err := e.Await(none, func() bool { panic("asked") }, "word")
	require.ErrorIs(t, err, engine.ErrClosed)
}
