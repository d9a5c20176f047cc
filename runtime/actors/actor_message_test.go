package actors_test

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// Numbers on the wire: kinds of actor messages, types, and the engine's context.
const (
	wireName = 1 + iota
	wireUser
	wireSystem
	wireDefine
	wireProbe
	wireLarge
	wireSettle

	wireBytes    = 1
	wireString   = 2
	wireWatch    = 4
	contextLarge = 1<<32 - 2
)

// ignore is an engine.ActorReceiver that drops everything.
type ignore struct{}

func (ignore) ActorMessage(int, engine.ActorMessage, []byte, *engine.Message) {}
func (ignore) Credit(*engine.Stream)                                          {}
func (ignore) Refused(*engine.Stream, engine.ActorMessage, []byte)            {}
func (ignore) Closed(int, uint32)                                             {}
func (ignore) Lost(int, error)                                                {}

// wire has the engine of rank 0 and the System of rank 1. Rank 0 has no System: the test itself
// makes each actor message that rank 0 sends.
type wire struct {
	e *engine.Engine
	s *actors.System
}

// newWire makes a wire with connected ranks.
func newWire(tb testing.TB, cfg actors.Config) *wire {
	tb.Helper()
	f := transporttest.NewFake(2, transporttest.FakeOptions{NoHandover: true})
	var all [2]*engine.Engine
	for rank := range all {
		tr := f.Transport(rank)
		e, err := engine.New(engine.Config{
			Rank: rank, Size: 2, Route: func(int) transport.Transport { return tr }, Transports: []transport.Transport{tr}, Sleeper: f.Sleeper(rank),
			Wait: engine.WaitPolicy{Yield: 100 * time.Microsecond},
		})
		require.NoError(tb, err)
		e.Start()
		all[rank] = e
	}
	s, closed := actors.NewOver(&fakeWorld{engine: all[1], rank: 1, size: 2}, cfg)
	all[0].SetActorReceiver(ignore{})
	tb.Cleanup(func() {
		require.NoError(tb, all[1].Close())
		closed()
		require.NoError(tb, all[0].Close())
	})
	return &wire{all[0], s}
}

// priceOf returns the credit that an actor message takes from its stream.
func priceOf(tag, head int, body []byte) uint64 {
	switch {
	case tag == wireUser && len(body) >= head:
		return uint64(len(body)-head) + 128
	case tag == wireLarge && len(body) >= 8:
		return min(min(binary.LittleEndian.Uint64(body), engine.StreamWindow)+128, engine.StreamWindow/4)
	}
	return 0
}

// send sends an actor message.
func (w *wire) send(tb testing.TB, l *engine.Stream, stream uint32, tag, head int, kind uint32, body []byte) {
	tb.Helper()
	cost := priceOf(tag, head, body)
	sent, err := w.e.SendActorMessage(l, engine.ActorMessage{Stream: stream, Tag: uint32(tag) | uint32(head)<<8, Type: kind}, nil, body, uint32(cost))
	require.NoError(tb, err)
	require.True(tb, sent)
}

// stream makes a stream to the actor with a name.
func (w *wire) stream(tb testing.TB, name string) *engine.Stream {
	tb.Helper()
	l, err := w.e.NewStream(1, nil, &engine.ActorMessage{Tag: wireName}, []byte(name))
	require.NoError(tb, err)
	return l
}

// text sends a short string.
func (w *wire) text(tb testing.TB, l *engine.Stream, s string) {
	tb.Helper()
	w.send(tb, l, l.Number(), wireUser, 0, wireString, []byte(s))
}

// announce sends the announcement of a long message (see large.go).
func (w *wire) announce(tb testing.TB, l *engine.Stream, kind uint32, length uint64, tag uint32) {
	tb.Helper()
	body := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, length), tag)
	w.send(tb, l, l.Number(), wireLarge, 0, kind, body)
}

// long sends the bytes of an announced message.
func (w *wire) long(tag int, b []byte) engine.Handle {
	return w.e.Isend(engine.Match{Context: contextLarge, Peer: 1, Tag: tag}, 0, b, engine.Standard)
}

// barrier returns after rank 1 has handled everything that was sent before.
func (w *wire) barrier(tb testing.TB, done <-chan any) {
	tb.Helper()
	w.text(tb, w.stream(tb, "barrier"), "x")
	select {
	case <-done:
	case <-time.After(soon):
		require.FailNow(tb, "the barrier does not end")
	}
}

// TestOrderOfLongMessagesToALateActor sends messages to an actor that does not exist yet. The
// messages must be delivered in order, whether the actor is spawned before or after the bytes of
// the long messages arrive.
func TestOrderOfLongMessagesToALateActor(t *testing.T) {
	long := func(first byte) []byte { b := make([]byte, 5000); b[0] = first; return b }
	for name, c := range map[string]struct {
		late  bool // the actor is spawned after the long messages have arrived
		first bool // the first message is long
	}{
		"short, appears": {false, false}, "short, appears later": {true, false},
		"long, appears": {false, true}, "long, appears later": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, actors.Config{})
			done := inbox(t, w.s, "barrier", w.s.Worker())
			l := w.stream(t, "late")
			if c.first {
				w.announce(t, l, wireString, 5000, 7)
			} else {
				w.text(t, l, "0")
			}
			w.announce(t, l, wireString, 5000, 8)
			w.text(t, l, "2")
			w.announce(t, l, wireString, 5000, 9)
			w.text(t, l, "4")
			w.barrier(t, done)
			var got <-chan any
			if !c.late {
				got = inbox(t, w.s, "late", w.s.Worker())
				w.barrier(t, done)
			}
			for i, first := range []byte{'0', '1', '3'} {
				if i > 0 || c.first {
					w.long(7+i, long(first))
				}
			}
			if c.late {
				w.barrier(t, done)
				got = inbox(t, w.s, "late", w.s.Worker())
			}
			for _, want := range "01234" {
				require.Equal(t, string(want), next(t, got).(string)[:1])
			}
		})
	}
}

// TestLongMessagesComeTogether checks that the long messages for an actor are fetched at the same
// time, so that the first one does not delay the other long messages. All messages, long and short, must be
// delivered in order.
func TestLongMessagesComeTogether(t *testing.T) {
	for name, kind := range map[string]uint32{"string": wireString, "bytes": wireBytes} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, actors.Config{})
			got := inbox(t, w.s, "in", w.s.Inline())
			l := w.stream(t, "in")
			w.announce(t, l, kind, 5000, 1)
			w.text(t, l, "1")
			w.announce(t, l, kind, 6000, 2)
			w.text(t, l, "2")
			w.announce(t, l, kind, 7000, 3)
			w.text(t, l, "3")
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			for _, tag := range []int{3, 2} {
				h := w.long(tag, pattern(4000+1000*tag, tag))
				_, err := h.Wait(ctx) // until the receiver has read the bytes
				require.NoError(t, err)
			}
			require.Empty(t, got)
			w.long(1, pattern(5000, 1))
			for tag := 1; tag <= 3; tag++ {
				want := pattern(4000+1000*tag, tag)
				if kind == wireBytes {
					require.Equal(t, want, next(t, got))
				} else {
					require.Equal(t, string(want), next(t, got))
				}
				require.Equal(t, string(rune('0'+tag)), next(t, got))
			}
		})
	}
}

// pattern returns n bytes that depend on seed.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + seed)
	}
	return b
}

// TestDeathAmongLongMessages checks the death of a sender with several long messages in progress.
// The first message whose bytes did not arrive is lost. All later messages are lost too, even if
// their bytes arrived.
func TestDeathAmongLongMessages(t *testing.T) {
	w := newWire(t, actors.Config{})
	dead := letters(w.s)
	got := inbox(t, w.s, "in", w.s.Worker())
	l := w.stream(t, "in")
	for tag := 1; tag <= 3; tag++ {
		w.announce(t, l, wireString, 5000, uint32(tag))
	}
	w.text(t, l, "behind")
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for _, tag := range []int{3, 1} {
		h := w.long(tag, pattern(5000, tag))
		_, err := h.Wait(ctx)
		require.NoError(t, err)
	}
	require.Equal(t, string(pattern(5000, 1)), next(t, got))
	w.s.Lose(0)
	var lost *engine.PeerError
	for _, what := range []any{nil, string(pattern(5000, 3)), "behind"} {
		d := next(t, dead)
		require.ErrorAs(t, d, &lost)
		require.Equal(t, what, d.Message)
	}
	require.Empty(t, got)
}

// TestLongAnswerBeforeTheLoss checks a request whose long answer has arrived completely before the rank was lost. The
// request must get the answer, although the serving goroutine sees the end of the receive and the loss at the same
// time.
func TestLongAnswerBeforeTheLoss(t *testing.T) {
	w := newWire(t, actors.Config{})
	done := inbox(t, w.s, "barrier", w.s.Worker())
	blocks, goOn := make(chan bool), make(chan bool)
	blocker, err := w.s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if c.Message() == "block" {
			blocks <- true
			<-goOn
		}
	}, w.s.Inline()), "")
	require.NoError(t, err)
	asked := w.s.Root.RequestFuture(w.s.PID(0, "in"), "question", soon)
	head := append([]byte{1, byte(len(asked.PID().Id)), 0}, asked.PID().Id...)
	body := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, 5000), 1)
	w.send(t, w.stream(t, "none"), 0, wireLarge, len(head), wireString, append(body, head...))
	w.barrier(t, done)
	w.s.Root.Send(blocker, "block")
	next(t, blocks)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	h := w.long(1, pattern(5000, 1))
	_, err = h.Wait(ctx)
	require.NoError(t, err)
	w.s.Lose(0)
	close(goOn)
	v, err := asked.Result()
	require.NoError(t, err)
	require.Equal(t, string(pattern(5000, 1)), v)
}

// TestLossOfALongMessageBeforeAnotherLink checks messages that arrive for an actor on later streams
// while a long message to this actor is in progress. If the long message is lost, the later
// messages are lost too, so that the actor sees no gap.
func TestLossOfALongMessageBeforeAnotherLink(t *testing.T) {
	w := newWire(t, actors.Config{})
	dead := letters(w.s)
	got := inbox(t, w.s, "in", w.s.Worker())
	done := inbox(t, w.s, "barrier", w.s.Worker())
	for _, behind := range []string{"first", "second"} {
		l := w.stream(t, "in")
		if behind == "first" {
			w.announce(t, l, wireString, 5000, 1) // its bytes never arrive
		}
		w.text(t, l, behind)
		w.e.CloseStream(l)
	}
	w.text(t, w.stream(t, "in"), "third")
	w.barrier(t, done)
	require.Empty(t, dead)
	w.s.Lose(0)
	for _, what := range []any{nil, "first", "second", "third"} {
		d := next(t, dead)
		var lost *engine.PeerError
		require.ErrorAs(t, d, &lost)
		require.Equal(t, what, d.Message)
	}
	require.Empty(t, got)
}

// TestLongDeadLetters checks that a long message that cannot be delivered becomes a dead letter
// at the receiver, and that the sender gets its memory back.
func TestLongDeadLetters(t *testing.T) {
	const short = 20 * time.Millisecond
	for name, c := range map[string]struct {
		to     string
		kind   uint32
		length uint64
		want   error
		first  bool // the message follows a short message
	}{
		"unknown type":         {"in", 999, 5000, nil, false},
		"unknown actor":        {"never", wireString, 5000, actors.ErrUnknownActor, false},
		"second to an unknown": {"never", wireString, 5000, actors.ErrUnknownActor, true},
		"too long":             {"in", wireString, 1 << 46, nil, false},
		"shorter":              {"in", wireString, 6000, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, actors.Config{Patience: short})
			dead := letters(w.s)
			got := inbox(t, w.s, "in", w.s.Worker())
			l := w.stream(t, c.to)
			if c.first {
				w.text(t, l, "first")
			}
			w.announce(t, l, c.kind, c.length, 1)
			h := w.long(1, make([]byte, 5000))
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			_, err := h.Wait(ctx)
			require.NoError(t, err)
			d := next(t, dead)
			if c.first {
				require.Equal(t, "first", d.Message)
				d = next(t, dead)
			}
			require.Equal(t, c.to, d.PID.Id)
			require.Error(t, d)
			if c.want != nil {
				require.ErrorIs(t, d, c.want)
			}
			w.text(t, w.stream(t, "in"), "after")
			require.Equal(t, "after", next(t, got))
		})
	}
}
