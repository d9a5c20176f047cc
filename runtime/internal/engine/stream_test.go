package engine_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// returned is what the sender of a refused message gets back.
type returned struct {
	words engine.ActorMessage
	body  string
}

// actorReceiver records its calls.
type actorReceiver struct {
	mu            sync.Mutex
	bodies        []string
	actorMessages []engine.ActorMessage
	credits       []*engine.Stream
	refused       []*engine.Stream
	returned      []returned // the refused messages
	lost          []int
	memory        []*engine.Message
	closed        []uint32
}

func (c *actorReceiver) ActorMessage(_ int, p engine.ActorMessage, body []byte, memory *engine.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.actorMessages = append(c.actorMessages, p)
	c.bodies = append(c.bodies, string(body))
	c.memory = append(c.memory, memory)
}

func (c *actorReceiver) Credit(l *engine.Stream) { c.credits = append(c.credits, l) }
func (c *actorReceiver) Refused(l *engine.Stream, p engine.ActorMessage, body []byte) {
	c.refused = append(c.refused, l)
	c.returned = append(c.returned, returned{p, string(body)})
}

func (c *actorReceiver) Closed(_ int, stream uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = append(c.closed, stream)
	c.bodies = append(c.bodies, fmt.Sprint("end of ", stream))
}
func (c *actorReceiver) Lost(peer int, _ error) { c.lost = append(c.lost, peer) }

// count returns the number of actor messages that have arrived.
func (c *actorReceiver) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.bodies)
}

// actorReceivers makes two engines with actor receivers.
func actorReceivers(t *testing.T, o transporttest.FakeOptions) (*world, [2]*actorReceiver) {
	t.Helper()
	w := newWorld(t, 2, o, nil)
	c := [2]*actorReceiver{{}, {}}
	for i, e := range w.engines {
		e.SetActorReceiver(c[i])
	}
	return w, c
}

// TestActorReceiverHearsOfUnreachablePeers checks that the actor receiver gets the loss of a peer that no transport
// reaches. The peer is first addressed before or after the actor receiver is set.
func TestActorReceiverHearsOfUnreachablePeers(t *testing.T) {
	f := transporttest.NewFake(3, transporttest.FakeOptions{})
	tr := f.Transport(0)
	e, err := engine.New(engine.Config{
		Size: 3, Sleeper: f.Sleeper(0), Transports: []transport.Transport{tr}, Route: func(int) transport.Transport { return nil },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, tr.Close()) }()
	defer func() { require.NoError(t, e.Close()) }()
	c := &actorReceiver{}
	require.ErrorIs(t, e.Down(1), transport.ErrNotSupported)
	e.SetActorReceiver(c)
	require.Equal(t, []int{1}, c.lost)
	_, err = e.NewStream(2, nil, nil, nil)
	require.ErrorIs(t, err, transport.ErrNotSupported)
	_, err = e.NewStream(1, nil, nil, nil)
	require.ErrorIs(t, err, transport.ErrNotSupported)
	require.Equal(t, []int{1, 2}, c.lost)
}

// soonTrue waits until f returns true. It fails the test if that takes 10 s.
func soonTrue(t *testing.T, f func() bool) {
	t.Helper()
	require.Eventually(t, f, 10*time.Second, time.Millisecond)
}

// TestActorMessagesArriveInOrder checks that actor messages arrive in order, each with its head
// before its body, although the lane refuses frames.
func TestActorMessagesArriveInOrder(t *testing.T) {
	w, c := actorReceivers(t, transporttest.FakeOptions{Seed: 1, AgainRate: 0.3, ConnectPolls: 10, DelayPolls: 4})
	l, err := w.engines[0].NewStream(1, "owner", nil, nil)
	require.NoError(t, err)
	require.Equal(t, uint32(1), l.Number())
	require.Equal(t, "owner", l.Owner)
	want := []string{}
	for i := range 300 {
		p := engine.ActorMessage{Stream: l.Number(), Tag: uint32(i), Type: 1<<32 - 1, ID: uint32(i) << 8}
		sent, err := w.engines[0].SendActorMessage(l, p, []byte{byte(i)}, []byte("body"), 64)
		require.NoError(t, err)
		require.True(t, sent)
		want = append(want, string(rune(0))+"body")
		want[i] = string([]byte{byte(i)}) + "body"
	}
	soonTrue(t, func() bool { return c[1].count() == 300 })
	require.Equal(t, want, c[1].bodies)
	for i, p := range c[1].actorMessages {
		require.Equal(t, engine.ActorMessage{Stream: 1, Tag: uint32(i), Type: 1<<32 - 1, ID: uint32(i) << 8}, p)
	}
	_, err = w.engines[0].NewStream(0, nil, nil, nil)
	require.ErrorIs(t, err, engine.ErrAddress)
	_, err = w.engines[0].NewStream(2, nil, nil, nil)
	require.ErrorIs(t, err, engine.ErrAddress)
	_, err = w.engines[0].SendActorMessage(l, engine.ActorMessage{}, nil, make([]byte, 5000), 0)
	require.ErrorIs(t, err, transport.ErrTooLong)
}

// TestLinkCredit checks that a stream sends at most its window until the receiver grants more
// credit. Other streams, and messages without cost, are not limited by this window.
func TestLinkCredit(t *testing.T) {
	w, c := actorReceivers(t, transporttest.FakeOptions{})
	e := w.engines[0]
	full, err := e.NewStream(1, nil, nil, nil)
	require.NoError(t, err)
	other, err := e.NewStream(1, nil, nil, nil)
	require.NoError(t, err)
	send := func(l *engine.Stream, cost uint32) bool {
		sent, err := e.SendActorMessage(l, engine.ActorMessage{Stream: l.Number()}, nil, nil, cost)
		require.NoError(t, err)
		return sent
	}
	require.True(t, send(full, engine.StreamWindow/2))
	require.True(t, send(full, engine.StreamWindow/2))
	require.False(t, send(full, 1))
	require.True(t, send(full, 0))
	require.True(t, send(other, 1))
	waited := make(chan error)
	go func() { waited <- e.AwaitCredit(full, "tell") }()
	soonTrue(t, func() bool { return len(e.Blocked()) == 1 })
	w.engines[1].Grant(0, full.Number(), engine.StreamWindow/2+engine.StreamWindow, new(bool))
	require.NoError(t, <-waited)
	require.Equal(t, []*engine.Stream{full}, c[0].credits)
	require.True(t, send(full, engine.StreamWindow/2))
	require.False(t, send(full, 1))
	// A grant of more credit than was ever used is invalid.
	w.engines[1].Grant(0, full.Number(), 10*engine.StreamWindow, new(bool))
	soonTrue(t, func() bool { _, err := e.SendActorMessage(full, engine.ActorMessage{}, nil, nil, 0); return err != nil })
	var lost *engine.PeerError
	_, err = e.SendActorMessage(other, engine.ActorMessage{}, nil, nil, 1)
	require.ErrorAs(t, err, &lost)
	require.ErrorIs(t, err, engine.ErrProtocol)
	require.Equal(t, []int{1}, c[0].lost)
	require.NoError(t, e.AwaitCredit(full, "tell"), "nothing to wait for")
	require.ErrorIs(t, e.Down(1), engine.ErrProtocol)
	require.NoError(t, e.Down(0))
	require.ErrorIs(t, e.Down(2), engine.ErrAddress)
}

// TestFirstActorMessagesTravelInOrder lets several goroutines make streams at the same time. The
// first actor messages of the streams must be sent in the order of the streams' numbers.
func TestFirstActorMessagesTravelInOrder(t *testing.T) {
	w, c := actorReceivers(t, transporttest.FakeOptions{})
	const makers, links = 4, 200
	var wg sync.WaitGroup
	for i := range makers {
		wg.Go(func() {
			for range links {
				_, err := w.engines[0].NewStream(1, nil, &engine.ActorMessage{Tag: uint32(i), ID: 7}, []byte("name"))
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	soonTrue(t, func() bool { return c[1].count() == makers*links })
	for i, p := range c[1].actorMessages {
		require.Equal(t, engine.ActorMessage{Stream: uint32(i + 1), Tag: p.Tag, ID: 7}, p)
		require.Equal(t, "name", c[1].bodies[i])
	}
	_, err := w.engines[0].NewStream(1, nil, &engine.ActorMessage{}, make([]byte, 5000))
	require.ErrorIs(t, err, transport.ErrTooLong)
	w.fake.Kill(1, errors.New("killed"))
	soonTrue(t, func() bool { _, err := w.engines[0].NewStream(1, nil, nil, nil); return err != nil })
}
