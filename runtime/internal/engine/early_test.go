package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestActorMessagesWaitForTheActorReceiver checks that actor messages wait for the actor receiver
// up to a bound. Beyond the bound the sender is notified. After the loss of the receiver's rank,
// SendActorMessage returns an error.
func TestActorMessagesWaitForTheActorReceiver(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	sender, receiver := &actorReceiver{}, &actorReceiver{}
	e := w.engines[0]
	e.SetActorReceiver(sender)
	l, err := e.NewStream(1, nil, nil, nil)
	require.NoError(t, err)
	const n = 2000
	for range n {
		_, err := e.SendActorMessage(l, engine.ActorMessage{Stream: 1}, nil, make([]byte, 4000), 0)
		require.NoError(t, err)
	}
	soonTrue(t, func() bool {
		refused := 0
		_ = e.Await(none, func() bool { refused = len(sender.refused); return true }, "look")
		w.engines[1].Poll()
		return refused > n/2 && refused == n-(4<<20)/(4000+448)
	})
	w.engines[1].SetActorReceiver(receiver)
	require.Equal(t, (4<<20)/(4000+448), receiver.count())
	w.fake.Kill(1, errors.New("killed"))
	soonTrue(t, func() bool { _, err := e.SendActorMessage(l, engine.ActorMessage{}, nil, nil, 0); return err != nil })
}

// TestRefusedMessagesComeBack checks that the sender of a refused message gets back the words and the first bytes of
// the message. The receiver must keep no message that was sent after a refused message, even if it is short enough for
// the space that is left.
func TestRefusedMessagesComeBack(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	sender, receiver := &actorReceiver{}, &actorReceiver{}
	e := w.engines[0]
	e.SetActorReceiver(sender)
	l, err := e.NewStream(1, nil, nil, nil)
	require.NoError(t, err)
	const kept = (4 << 20) / (4000 + 448)
	body := make([]byte, 4000)
	for i := range body {
		body[i] = byte(i)
	}
	send := func(i int, body []byte) {
		words := engine.ActorMessage{Stream: l.Number(), Tag: 1<<31 - 1, Type: 1<<32 - 1, ID: uint32(i)}
		_, err := e.SendActorMessage(l, words, body[:1], body[1:], 0)
		require.NoError(t, err)
	}
	for i := range kept + 1 {
		send(i, body)
	}
	send(kept+1, []byte("xy"))
	var back []returned
	soonTrue(t, func() bool {
		_ = e.Await(none, func() bool { back = sender.returned; return true }, "look")
		w.engines[1].Poll()
		return len(back) == 2
	})
	for i, want := range []string{string(body[:engine.RefusedMax]), "xy"} {
		require.Equal(t, want, back[i].body)
		require.Equal(t, engine.ActorMessage{Stream: l.Number(), Tag: 1<<31 - 1, Type: 1<<32 - 1, ID: uint32(kept + i)}, back[i].words)
	}
	w.engines[1].SetActorReceiver(receiver)
	require.Equal(t, kept, receiver.count())
}

// TestActorMessagesDoNotWaitForEver checks a rank without an actor receiver after the time limit.
// Messages that have waited are refused, later messages are refused at once, messages without a
// stream are dropped, and ends of streams are answered. A later actor receiver must still get
// messages.
func TestActorMessagesDoNotWaitForEver(t *testing.T) {
	w := newWorld(t, 2, transporttest.FakeOptions{}, func(c *engine.Config) { c.Early = time.Millisecond })
	sender, receiver := &actorReceiver{}, &actorReceiver{}
	e := w.engines[0]
	e.SetActorReceiver(sender)
	refused := func() (n int) {
		require.NoError(t, e.Await(none, func() bool { n = len(sender.refused); return true }, "look"))
		return n
	}
	send := func(l *engine.Stream, number uint32) {
		sent, err := e.SendActorMessage(l, engine.ActorMessage{Stream: number}, nil, []byte("x"), 0)
		require.NoError(t, err)
		require.True(t, sent)
	}
	for round := range 2 { // in the second round no message waits
		l, err := e.NewStream(1, nil, &engine.ActorMessage{}, []byte("name"))
		require.NoError(t, err)
		send(l, l.Number())
		send(l, 0)
		e.CloseStream(l)
		soonTrue(t, func() bool { return refused() == 2*(round+1) })
		// The number of the stream is free, because the end was answered.
		soonTrue(t, func() bool {
			again, err := e.NewStream(1, nil, nil, nil)
			require.NoError(t, err)
			e.CloseStream(again)
			return again.Number() == l.Number()
		})
	}
	w.engines[1].SetActorReceiver(receiver)
	l, err := e.NewStream(1, nil, &engine.ActorMessage{}, []byte("late"))
	require.NoError(t, err)
	send(l, l.Number())
	soonTrue(t, func() bool {
		receiver.mu.Lock()
		defer receiver.mu.Unlock()
		n := len(receiver.bodies)
		return n >= 2 && receiver.bodies[n-2] == "late" && receiver.bodies[n-1] == "x"
	})
	require.NoError(t, e.Down(1))
}

// TestNothingFollowsARefusedMessage checks that the actor receiver gets no message of a stream after one that was
// refused, and no end of a stream of which every message was refused. The number of a stream can be used again after
// its end, whether the rank has an actor receiver by then or not.
func TestNothingFollowsARefusedMessage(t *testing.T) {
	for _, ends := range []string{"before", "after"} {
		t.Run("ends "+ends, func(t *testing.T) { testNothingFollowsARefusedMessage(t, ends == "before") })
	}
}

func testNothingFollowsARefusedMessage(t *testing.T, before bool) {
	t.Helper()
	w := newWorld(t, 2, transporttest.FakeOptions{}, nil)
	sender, receiver := &actorReceiver{}, &actorReceiver{}
	e := w.engines[0]
	e.SetActorReceiver(sender)
	open := func(name string) *engine.Stream {
		l, err := e.NewStream(1, nil, &engine.ActorMessage{}, []byte(name))
		require.NoError(t, err)
		return l
	}
	send := func(l *engine.Stream, body string) {
		_, err := e.SendActorMessage(l, engine.ActorMessage{Stream: l.Number()}, nil, []byte(body), 0)
		require.NoError(t, err)
	}
	refused := func(n int) {
		soonTrue(t, func() bool {
			have := 0
			require.NoError(t, e.Await(none, func() bool { have = len(sender.refused); return true }, "look"))
			w.engines[1].Poll()
			return have == n
		})
	}
	const kept = (4 << 20) / (4000 + 448)
	known := open(string(make([]byte, 4000)))
	for range kept {
		send(known, string(make([]byte, 4000)))
	}
	unknown := open("unknown")
	refused(2)
	freed := func(l *engine.Stream) {
		soonTrue(t, func() bool {
			w.engines[1].Poll()
			return open("again").Number() == l.Number()
		})
	}
	if before {
		e.CloseStream(known)
		e.CloseStream(unknown)
		freed(unknown)
	}
	w.engines[1].SetActorReceiver(receiver)
	if !before {
		send(known, "late")
		send(unknown, "late")
		refused(4)
		e.CloseStream(unknown)
		freed(unknown)
		e.CloseStream(known)
	}
	freed(known)
	soonTrue(t, func() bool { return receiver.count() > kept })
	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	require.NotContains(t, receiver.bodies, "late")
	require.NotContains(t, receiver.bodies, "unknown")
	require.Equal(t, []uint32{known.Number()}, receiver.closed)
}
