package engine_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/transporttest"
)

// TestBatchIsSentWhenTheTokenIsLent ends a wait while a batch is open and another goroutine sleeps without a
// time limit. The lane refuses the batch, which is then queued. The sleeping goroutine gets the poll token. It
// must not continue to sleep, because the transport does not ring it when the lane has room again.
func TestBatchIsSentWhenTheTokenIsLent(t *testing.T) {
	sleeps := make(chan struct{}, 1)
	w := newWorldOf(t, 2, transporttest.FakeOptions{CostlySend: true, RingMessages: 1}, false, func(c *engine.Config) {
		if c.Rank == 0 {
			c.Sleeper = &sequenceSleeper{c.Sleeper, &sequence{sleeps: sleeps}}
		}
	})
	e, peer := w.engines[0], w.engines[1]
	c := &actorReceiver{}
	peer.SetActorReceiver(c)
	l, err := e.NewStream(1, nil, nil, nil)
	require.NoError(t, err)
	_, err = e.SendActorMessage(l, engine.ActorMessage{Stream: l.Number()}, nil, nil, 0)
	require.NoError(t, err)
	soonTrue(t, func() bool { peer.Poll(); return c.count() == 1 })
	received := make(chan error)
	go func() {
		_, err := e.Recv(none, engine.Match{Peer: 1, Tag: 1}, 0, nil)
		received <- err
	}()
	<-sleeps
	e.EndWaitWithBatch(l)
	soonTrue(t, func() bool { peer.Poll(); return c.count() == 3 })
	require.NoError(t, peer.Send(none, engine.Match{Peer: 0, Tag: 1}, 0, nil, engine.Standard))
	require.NoError(t, <-received)
}

// lateSleeper ends a Sleep only when the channel awake is closed.
type lateSleeper struct {
	transport.Sleeper
	asleep, awake chan struct{}
}

func (s *lateSleeper) Sleep(ticket uint32, nanos int64) {
	note(s.asleep)
	s.Sleeper.Sleep(ticket, nanos)
	<-s.awake
}

// closedTransport counts the calls of Arm and Disarm after the field closed is set.
type closedTransport struct {
	transport.Transport
	closed atomic.Bool
	late   atomic.Int64
}

func (c *closedTransport) count() {
	if c.closed.Load() {
		c.late.Add(1)
	}
}

func (c *closedTransport) Arm() bool { c.count(); return c.Transport.Arm() }
func (c *closedTransport) Disarm()   { c.count(); c.Transport.Disarm() }

// TestTransportsAreLeftAloneAfterClose checks that a goroutine which wakes up after Close has returned calls neither
// Arm nor Disarm of a transport, because the caller of Close may have closed the transports.
func TestTransportsAreLeftAloneAfterClose(t *testing.T) {
	f := transporttest.NewFake(2, transporttest.FakeOptions{})
	tr := &closedTransport{Transport: f.Transport(0)}
	s := &lateSleeper{f.Sleeper(0), make(chan struct{}, 1), make(chan struct{})}
	e, err := engine.New(engine.Config{
		Size: 2, Sleeper: s, Transports: []transport.Transport{tr}, Wait: engine.WaitPolicy{Yield: time.Microsecond},
		Route: func(int) transport.Transport { return tr },
	})
	require.NoError(t, err)
	received := make(chan error)
	go func() {
		_, err := e.Recv(none, engine.Match{Peer: 1, Tag: 1}, 0, nil)
		received <- err
	}()
	<-s.asleep
	require.NoError(t, e.Close())
	tr.closed.Store(true)
	close(s.awake)
	require.ErrorIs(t, <-received, engine.ErrClosed)
	require.Zero(t, tr.late.Load())
	require.NoError(t, tr.Close())
}
