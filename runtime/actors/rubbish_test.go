package actors_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/actors"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// raw is an actor message, which may be malformed.
type raw struct {
	stream, tag, kind, epoch uint32
	body                     []byte
}

// rawMessages returns a valid message of each kind. Stream 1 leads to the actor "in".
func rawMessages(tb testing.TB) map[string]raw {
	tb.Helper()
	head, err := (&codec.Head{
		Name: "in", Sender: actor.NewPID("rank:1", "in"), Headers: map[string]string{"k": "v"},
	}).Append(nil, "rank:0")
	require.NoError(tb, err)
	withHead := func(tag int, body string) (uint32, []byte) {
		return uint32(tag) | uint32(len(head))<<8, append(append([]byte(nil), head...), body...)
	}
	user, userBody := withHead(wireUser, "text")
	system, systemBody := withHead(wireSystem, "\x00")
	large := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, 5000), 7)
	return map[string]raw{
		"name":         {9, wireName, 0, 0, []byte("other")},
		"message":      {1, wireUser, wireString, 0, []byte("text")},
		"with a head":  {0, user, wireString, 0, userBody},
		"watch":        {0, system, wireWatch, 0, systemBody},
		"terminated":   {0, system, wireWatch + 2, 0, systemBody},
		"definition":   {1, wireDefine, 16, 0, []byte("\x03\x00intlayout")},
		"probe":        {1, wireProbe, 0, 0, []byte("\x00\x00\x00\x00\x01\x00\x00\x00in")},
		"announcement": {1, wireLarge, wireString, 0, large},
		"settlement":   {1, wireSettle, 0, 0, []byte("\x00\x01\x00\x00")},
	}
}

// hurl sends an actor message, which may be malformed.
func (w *wire) hurl(tb testing.TB, l *engine.Stream, r raw) {
	tb.Helper()
	p := engine.ActorMessage{Stream: r.stream, Tag: r.tag & (1<<31 - 1), Type: r.kind, ID: r.epoch}
	r.body = r.body[:min(len(r.body), 500)]
	sent, err := w.e.SendActorMessage(l, p, nil, r.body, uint32(priceOf(int(r.tag&0xff), int(r.tag>>8), r.body)))
	require.NoError(tb, err)
	require.True(tb, sent)
}

// unharmed checks that rank 1 still works and delivers messages.
func (w *wire) unharmed(tb testing.TB, done <-chan any) {
	tb.Helper()
	w.barrier(tb, done)
	require.NoError(tb, w.e.Down(1))
}

// TestTruncatedActorMessages checks that every truncation of every kind of actor message, and one
// additional byte, does no harm: other messages are still delivered.
func TestTruncatedActorMessages(t *testing.T) {
	for name, good := range rawMessages(t) {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, actors.Config{Patience: time.Millisecond})
			done := inbox(t, w.s, "barrier", w.s.Worker())
			_, err := w.s.Spawn(idle(), "in")
			require.NoError(t, err)
			l := w.stream(t, "in")
			for n := range len(good.body) + 2 {
				r := good
				r.body = append(append([]byte(nil), good.body...), 0)[:n]
				w.hurl(t, l, r)
			}
			w.unharmed(t, done)
			if name == "announcement" {
				ctx, cancel := context.WithTimeout(t.Context(), soon)
				defer cancel()
				_, err := w.long(7, make([]byte, 5000)).Wait(ctx)
				require.NoError(t, err)
			}
		})
	}
}

// TestRubbishIsADeadLetter checks that each malformed actor message is one dead letter, whose reason
// says that the message is malformed.
func TestRubbishIsADeadLetter(t *testing.T) {
	w := newWire(t, actors.Config{Patience: time.Millisecond})
	done := inbox(t, w.s, "barrier", w.s.Worker())
	dead := letters(w.s)
	l := w.stream(t, "in")
	require.Empty(t, w.s.Explain())
	rubbish := map[string]raw{
		"no tag":            {1, 0, wireString, 0, nil},
		"a tag of tomorrow": {1, 99, wireString, 0, nil},
		"no such stream":    {77, wireUser, wireString, 0, []byte("x")},
		"no addressee":      {0, wireUser, wireString, 0, []byte("x")},
		"a stream twice":    {1, wireName, 0, 0, []byte("again")},
		"a stream too far":  {1 << 30, wireName, 0, 0, []byte("far")},
		"unknown type":      {1, wireUser, 1 << 31, 0, []byte("x")},
		"short probe":       {1, wireProbe, 0, 0, []byte("x")},
		"long head":         {1, wireUser | 1<<30, wireString, 0, []byte("x")},
		"odd announcement":  {1, wireLarge, wireString, 0, []byte("x")},
		"short settlement":  {1, wireSettle, 0, 0, []byte("x")},
		"settling nothing":  {77, wireSettle, 0, 0, []byte("\x00\x01\x00\x00")},
		"bad definition":    {1, wireDefine, 1 << 20, 0, []byte("\x00\x00")},
	}
	for name, r := range rubbish {
		w.hurl(t, l, r)
		require.Contains(t, next(t, dead).Error(), "malformed actor message", name)
	}
	require.Empty(t, dead)
	w.s.Root.Send(w.s.PID(9, "none"), "a dead letter that is no rubbish")
	next(t, dead)
	require.Equal(t, []string{fmt.Sprintf("actors: dead letters: %d, of these malformed actor messages: %d", len(rubbish)+1, len(rubbish))}, w.s.Explain())
	w.unharmed(t, done)
}

// TestSystemMessagesWithoutASender checks that a system message without a sender, with an unknown
// type or with a wrong length is a dead letter. The message must disturb neither an actor nor a router,
// which handles it in the goroutine that delivers arrivals.
func TestSystemMessagesWithoutASender(t *testing.T) {
	w := newWire(t, actors.Config{Patience: time.Millisecond})
	done := inbox(t, w.s, "barrier", w.s.Worker())
	dead := letters(w.s)
	restarted := make(chan bool, 100)
	_, err := w.s.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Restarting); ok {
			restarted <- true
		}
	}), "in")
	require.NoError(t, err)
	_, err = w.s.Route(actors.RoundRobin, "router")
	require.NoError(t, err)
	total := 0
	for _, to := range []string{"in", "router"} {
		l := w.stream(t, to)
		one, err := (&codec.Head{Sender: actor.NewPID("rank:0", "x")}).Append(nil, "rank:0")
		require.NoError(t, err)
		for what, r := range map[string]raw{
			"watch":                   {l.Number(), wireSystem, wireWatch, 0, nil},
			"unwatch":                 {l.Number(), wireSystem, wireWatch + 1, 0, nil},
			"terminated":              {l.Number(), wireSystem, wireWatch + 2, 0, []byte{0}},
			"terminated without why":  {l.Number(), wireSystem | uint32(len(one))<<8, wireWatch + 2, 0, one},
			"terminated for two whys": {l.Number(), wireSystem | uint32(len(one))<<8, wireWatch + 2, 0, append(one[:len(one):len(one)], 0, 0)},
			"one below":               {l.Number(), wireSystem | uint32(len(one))<<8, wireWatch - 1, 0, one},
			"one above":               {l.Number(), wireSystem | uint32(len(one))<<8, wireWatch + 4, 0, one},
		} {
			total++
			w.hurl(t, l, r)
			require.Contains(t, next(t, dead).Error(), "malformed actor message: system message", "%s to %s", what, to)
		}
	}
	_, rubbish := w.s.Letters()
	require.EqualValues(t, total, rubbish)
	require.Empty(t, restarted)
	w.unharmed(t, done)
}

// FuzzActorMessage sends arbitrary actor messages to the actors of a rank, which must continue.
func FuzzActorMessage(f *testing.F) {
	for _, r := range rawMessages(f) {
		f.Add(r.stream, r.tag, r.kind, r.epoch, r.body)
	}
	f.Fuzz(func(t *testing.T, stream, tag, kind, epoch uint32, body []byte) {
		w := newWire(t, actors.Config{Patience: time.Millisecond})
		done := inbox(t, w.s, "barrier", w.s.Worker())
		_, err := w.s.Spawn(idle(), "in")
		require.NoError(t, err)
		if tag&0xff == wireName && stream == 2 {
			// This message would rename the stream of the barrier.
			return
		}
		w.hurl(t, w.stream(t, "in"), raw{stream, tag, kind, epoch, body})
		w.unharmed(t, done)
	})
}
