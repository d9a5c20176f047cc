package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

const (
	actorKind = 14
	batchKind = 17
)

// costly is a stranger (stranger_test.go) whose Sends are costly, so that the engine makes batches.
// It stores the frames that are sent to it.
type costly struct {
	stranger
	bodies [][]byte
	refuse bool // refuse every frame
	forget bool // do not store the frames
	count  atomic.Int64
}

func (s *costly) Endpoint(int) (transport.Endpoint, error) { return s, nil }

func (s *costly) Send(h transport.Header, b []byte) error {
	switch {
	case len(b) > s.caps.MaxEager:
		return transport.ErrTooLong
	case s.refuse:
		return transport.ErrAgain
	}
	if s.count.Add(1); !s.forget {
		s.sent, s.bodies = append(s.sent, h), append(s.bodies, bytes.Clone(b))
	}
	return nil
}

// newCostly makes an engine over a costly transport, without background progress, with an actor
// receiver and a stream to rank 1. most is the length of the longest frame in bytes.
func newCostly(tb testing.TB, most int) (*costly, *engine.Engine, *actorReceiver, *engine.Stream) {
	tb.Helper()
	s := &costly{stranger: stranger{
		caps: transport.Caps{MaxEager: most, EagerBest: most, CostlySend: true}, reported: map[int]bool{},
	}}
	e, err := engine.New(engine.Config{Size: 3, Route: func(int) transport.Transport { return s }, Transports: []transport.Transport{s}})
	require.NoError(tb, err)
	tb.Cleanup(func() { e.Close() })
	c := &actorReceiver{}
	e.SetActorReceiver(c)
	l, err := e.NewStream(1, nil, &engine.ActorMessage{Tag: 1}, []byte("name"))
	require.NoError(tb, err)
	s.sent, s.bodies = nil, nil
	s.count.Store(0)
	return s, e, c, l
}

// tell sends an actor message of n bytes with a number as its tag.
func tell(tb testing.TB, e *engine.Engine, l *engine.Stream, number, n int) {
	tb.Helper()
	p := engine.ActorMessage{Stream: l.Number(), Tag: uint32(number), Type: 7, ID: 9}
	sent, err := e.SendActorMessage(l, p, []byte("head"), pattern(n, number), 1)
	require.NoError(tb, err)
	require.True(tb, sent)
}

// naive builds a batch of the actor messages of 8 bytes that the function tell sends.
func naive(numbers []int) []byte {
	const n = 8
	var b []byte
	for _, number := range numbers {
		for _, word := range []uint32{1, uint32(number), 7, 9, uint32(4 + n)} {
			b = binary.LittleEndian.AppendUint32(b, word)
		}
		b = append(append(b, "head"...), pattern(n, number)...)
	}
	return b
}

// kinds returns the kinds of the frames that were sent.
func (s *costly) kinds() []int {
	all := make([]int, len(s.sent))
	for i, h := range s.sent {
		all[i] = int(uint8(h.A))
	}
	return all
}

// TestActorMessagesShareAFrame checks when actor messages are sent. The first message is sent at
// once. The messages that follow share a frame, which is sent at the next poll or before any
// other frame. After a frame of the peer has arrived, the next message is again sent at once.
func TestActorMessagesShareAFrame(t *testing.T) {
	s, e, _, l := newCostly(t, 4096)
	e.HoldBatches(false)
	poll := func() { e.Iprobe(engine.Match{Peer: 2}) }
	heard := strange{1, transport.Header{A: 8}, nil} // a frame that only returns credit
	s.frames = append(s.frames, heard)
	poll()
	tellMany(t, e, l, 0, 4)
	require.Equal(t, []int{actorKind}, s.kinds())
	require.Equal(t, append([]byte("head"), pattern(8, 0)...), s.bodies[0])
	poll()
	require.Equal(t, []int{actorKind, batchKind}, s.kinds())
	require.Equal(t, naive([]int{1, 2, 3}), s.bodies[1])
	tellMany(t, e, l, 4, 2)
	s.frames = append(s.frames, heard)
	poll()
	require.Equal(t, naive([]int{4, 5}), s.bodies[2])
	poll()
	require.Len(t, s.sent, 3)
	tellMany(t, e, l, 6, 1)
	require.Equal(t, []int{actorKind}, s.kinds()[3:])

	message := func() {
		require.NoError(t, e.Send(none, engine.Match{Peer: 1, Tag: 3}, 0, []byte("m"), engine.Standard))
	}
	for name, other := range map[string]func(){
		"message":            message,
		"grant":              func() { e.Grant(1, 5, engine.StreamWindow, new(bool)) },
		"long actor message": func() { tell(t, e, l, 100, 3000) },
		"name": func() {
			_, err := e.NewStream(1, nil, &engine.ActorMessage{Tag: 1}, []byte("other"))
			require.NoError(t, err)
		},
	} {
		s.sent, s.bodies = nil, nil
		tellMany(t, e, l, 0, 3)
		require.Empty(t, s.sent)
		other()
		require.Len(t, s.sent, 2, name)
		require.Equal(t, batchKind, s.kinds()[0], "%s overtook", name)
		require.Equal(t, naive([]int{0, 1, 2}), s.bodies[0])
		message() // sent by the fast path
		require.Len(t, s.sent, 3)
	}
}

// tellMany sends n actor messages of 8 bytes and a head. Their numbers begin at number.
func tellMany(tb testing.TB, e *engine.Engine, l *engine.Stream, number, n int) {
	tb.Helper()
	for i := range n {
		tell(tb, e, l, number+i, 8)
	}
}

// TestBatchesAreSplit checks that batches of all sizes are split at the maximum length of a
// frame. A batch must cost the credit of the actor messages in it.
func TestBatchesAreSplit(t *testing.T) {
	for _, most := range []int{128, 700, 4096, 1 << 20} {
		t.Run(fmt.Sprint(most), func(t *testing.T) { testSplit(t, most) })
	}
}

func testSplit(t *testing.T, most int) {
	t.Helper()
	s, e, _, l := newCostly(t, most)
	e.HoldBatches(false)
	rng := rand.New(rand.NewPCG(1, 1))
	var want []string
	for i := range 200 {
		n := rng.IntN(rng.IntN(min(2500, most)) + 2)
		p := engine.ActorMessage{Stream: l.Number(), Tag: uint32(i)}
		sent, err := e.SendActorMessage(l, p, nil, pattern(n, i), 1000)
		require.NoError(t, err)
		require.True(t, sent)
		want = append(want, string(pattern(n, i)))
	}
	sent, err := e.SendActorMessage(l, engine.ActorMessage{}, nil, nil, engine.StreamWindow-200*1000+1)
	require.NoError(t, err)
	require.False(t, sent, "beyond the credit")
	sent, err = e.SendActorMessage(l, engine.ActorMessage{Tag: 200}, nil, nil, engine.StreamWindow-200*1000)
	require.NoError(t, err)
	require.True(t, sent)
	require.NoError(t, e.Flush(none))
	require.Less(t, len(s.sent), 190)
	receiver, other, c, _ := newCostly(t, 4096)
	for i, b := range s.bodies {
		receiver.frames = append(receiver.frames, strange{1, s.sent[i], b})
	}
	other.Iprobe(engine.Match{Peer: 2})
	require.Equal(t, append(want, ""), c.bodies)
	for i, p := range c.actorMessages {
		require.Equal(t, uint32(i), p.Tag)
	}
}

// TestBatchesWaitForTheLane checks that a batch grows while the lane refuses frames, and is then sent
// after the refused frames.
func TestBatchesWaitForTheLane(t *testing.T) {
	s, e, _, l := newCostly(t, 4096)
	e.HoldBatches(false)
	s.refuse = true
	e.Grant(1, 5, engine.StreamWindow, new(bool))
	for i := range 5 {
		tell(t, e, l, i, 8)
		e.Poll()
	}
	s.refuse = false
	require.NoError(t, e.Flush(none))
	require.Equal(t, []int{15, batchKind}, s.kinds())
	require.Equal(t, naive([]int{0, 1, 2, 3, 4}), s.bodies[1])
}

// TestBrokenBatches checks every truncation of a batch and every length beyond its end. Messages
// before the damage must be delivered, and the receiver must declare the sender to be down.
func TestBrokenBatches(t *testing.T) {
	const actorMessage = 20 + 4 + 8
	whole := naive([]int{0, 1, 2})
	hurt := func(name string, b []byte, actorMessages int) {
		t.Run(name, func(t *testing.T) {
			s, e, c, l := newCostly(t, 4096)
			s.frames = append(s.frames, strange{1, transport.Header{A: batchKind}, b})
			e.Iprobe(engine.Match{Peer: 2})
			require.Len(t, c.actorMessages, actorMessages)
			for i, p := range c.actorMessages {
				require.Equal(t, engine.ActorMessage{Stream: 1, Tag: uint32(i), Type: 7, ID: 9}, p)
				require.Equal(t, "head"+string(pattern(8, i)), c.bodies[i])
			}
			_, err := e.SendActorMessage(l, engine.ActorMessage{}, nil, nil, 0)
			if len(b)%actorMessage == 0 && len(b) <= len(whole) && actorMessages == len(b)/actorMessage {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, engine.ErrProtocol)
			require.Equal(t, []int{1}, c.lost)
			require.NoError(t, e.Down(2))
		})
	}
	for n := range len(whole) + 1 {
		hurt(fmt.Sprint("first bytes ", n), whole[:n], n/actorMessage)
	}
	hurt("trailing byte", append(bytes.Clone(whole), 0), 3)
	for _, length := range []uint32{13, 20, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 20, 1<<32 - 1} {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(b[2*actorMessage+16:], length)
		hurt(fmt.Sprint("length ", length), b, 2)
	}
	b := bytes.Clone(whole)
	b[actorMessage+7] = 0x80
	hurt("negative tag", b, 1)
}

// TestBatchesOverAFabric sends the first and later actor messages of several streams over a
// transport that refuses frames, delays them and connects late. Each message must arrive once and
// in order.
func TestBatchesOverAFabric(t *testing.T) {
	for seed := range int64(5) {
		w, c := actorReceivers(t, transporttest.FakeOptions{Seed: seed, AgainRate: 0.2, ConnectPolls: 10, DelayPolls: 4, CostlySend: true})
		e := w.engines[0]
		var links []*engine.Stream
		var want []engine.ActorMessage
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		for i := range 2000 {
			if i%400 == 0 {
				l, err := e.NewStream(1, nil, &engine.ActorMessage{Tag: uint32(i), ID: 1}, []byte("name"))
				require.NoError(t, err)
				links = append(links, l)
				want = append(want, engine.ActorMessage{Stream: l.Number(), Tag: uint32(i), ID: 1})
				continue
			}
			l := links[rng.IntN(len(links))]
			p := engine.ActorMessage{Stream: l.Number(), Tag: uint32(i)}
			sent, err := e.SendActorMessage(l, p, nil, pattern(rng.IntN(rng.IntN(3000)+1), i), 0)
			require.NoError(t, err)
			require.True(t, sent)
			want = append(want, p)
			if rng.IntN(50) == 0 {
				e.Iprobe(engine.Match{Peer: 1})
			}
		}
		soonTrue(t, func() bool { return c[1].count() == len(want) })
		require.Equal(t, want, c[1].actorMessages)
	}
}

// TestBatchesAreNotForgotten checks that a batch is sent even if no goroutine of the program
// polls. It must also be sent before Flush returns. A batch to a lost peer must be dropped.
func TestBatchesAreNotForgotten(t *testing.T) {
	w, c := actorReceivers(t, transporttest.FakeOptions{CostlySend: true})
	e := w.engines[0]
	l, err := e.NewStream(1, nil, nil, nil)
	require.NoError(t, err)
	for i := range 10 {
		tell(t, e, l, i, 8)
	}
	soonTrue(t, func() bool { return c[1].count() == 10 })
	for i := range 10 {
		tell(t, e, l, i, 8)
	}
	require.NoError(t, e.Flush(none))
	soonTrue(t, func() bool { return c[1].count() == 20 })
	for i := range 10 {
		tell(t, e, l, i, 8)
	}
	w.fake.Kill(1, errors.New("killed"))
	soonTrue(t, func() bool { return e.Down(1) != nil })
	var lost *engine.PeerError
	_, err = e.SendActorMessage(l, engine.ActorMessage{}, nil, nil, 1)
	require.ErrorAs(t, err, &lost)
	require.NoError(t, e.Flush(none), "nothing is left")
	require.Equal(t, []int{1}, c[0].lost)
}

// TestBatchesHaveATimer checks that a timer sends a batch if nothing polls at all.
func TestBatchesHaveATimer(t *testing.T) {
	s, e, _, l := newCostly(t, 4096)
	e.HoldBatches(true)
	// With several messages, the timer could send two frames.
	tellMany(t, e, l, 0, 1)
	soonTrue(t, func() bool { return s.count.Load() == 1 })
	require.NoError(t, e.Close())
	require.Equal(t, naive([]int{0}), s.bodies[0])
}

// TestBatchesAllocateNothing checks that actor messages that share frames allocate nothing.
func TestBatchesAllocateNothing(t *testing.T) {
	s, e, _, l := newCostly(t, 4096)
	s.forget = true
	e.HoldBatches(false)
	head, body, p := make([]byte, 20), make([]byte, 64), engine.ActorMessage{Stream: 1, Tag: 3}
	send := func() { _, _ = e.SendActorMessage(l, p, head, body, 0) }
	for range 1000 {
		send()
	}
	require.Zero(t, testing.AllocsPerRun(1000, send))
	require.Less(t, s.count.Load(), int64(200))
}
