package iwarp_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// stall posts parts Sends of 1 MiB each. They exceed what the socket takes, so that a Send is written only in part.
func stall(t *testing.T, s *side, ep *verbs.Endpoint, parts int) {
	t.Helper()
	r, err := s.domain.Register(pattern(1<<20, 1), verbs.AccessLocalWrite)
	require.NoError(t, err)
	for id := range parts {
		require.NoError(t, ep.Post(&verbs.WorkRequest{ID: uint64(1000 + id), Op: verbs.OpSend, Segments: []verbs.Segment{r.Segment(0, 1<<20)}}))
	}
	for range 10 {
		s.poll()
	}
}

// TestStallOfAHotConnection stalls a hot connection, which the device polls and epoll does not watch.
// The test checks that all Sends arrive and complete when the peer reads again.
func TestStallOfAHotConnection(t *testing.T) {
	const parts = 12
	s, _, p, ep := meet(t)
	for msn := uint32(1); msn <= 40; msn++ {
		if msn > 2 {
			require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: uint64(msn - 1)}))
		}
		p.send(p.fpdu(message(msn, nil)))
		s.done(ep, uint64(msn-1))
	}
	stall(t, s, ep, parts)
	for left := parts << 20; left > 0; {
		left -= len(p.ulpdu()) - ddp.UntaggedLength
	}
	for id := range uint64(parts) {
		require.Equal(t, verbs.StatusSuccess, s.done(ep, 1000+id).Status)
	}
}

// TestTerminateOfAStalledConnection has a peer that reads nothing violate the protocol. The test checks that the
// device completes the unfinished segment before the Terminate, and that the Terminate arrives although the peer
// continues to send.
func TestTerminateOfAStalledConnection(t *testing.T) {
	spied := &spy{Provider: iwarp.New(iwarp.Config{CloseTimeout: time.Hour})}
	adapter, err := verbs.Open(spied, loopback)
	require.NoError(t, err)
	s := wrap(t, adapter, 64)
	p := dial(t, s, s.listen().Address())
	ep := s.endpoint()
	p.open(strangerOffer(), ep)
	stall(t, s, ep, 12)
	p.send(p.fpdu(write(0xdeadbeef, 0, []byte("x"))))
	require.ErrorIs(t, s.event(ep).Err, ddp.ErrSTag)
	for id := range uint64(12) {
		s.done(ep, 1000+id)
	}
	for range 20 {
		p.send(make([]byte, 10_000))
		s.poll()
	}
	require.Equal(t, rdmap.CodeOf(ddp.ErrSTag), p.terminated().Code)
	p.pump(func() bool { return iwarp.Open(spied.devices[0]) == 0 })
}

// TestReadsAreAnsweredUnderALoadOfSends checks that a Read Request is answered before all posted Sends are sent.
func TestReadsAreAnsweredUnderALoadOfSends(t *testing.T) {
	const parts = 30
	s, m, p, ep := meet(t)
	stall(t, s, ep, parts)
	stag, to := m.remote(0)
	p.send(p.fpdu(readRequest(1, rdmap.ReadRequest{SinkSTag: 7, Size: 10, SourceSTag: stag, SourceTO: to})))
	sends := 0
	for u := p.ulpdu(); !ddp.Tag(u[0]); u = p.ulpdu() {
		h, err := ddp.ParseUntagged(u)
		require.NoError(t, err)
		if h.Last {
			sends++
		}
	}
	require.Less(t, sends, parts)
}

// waitFor sleeps in the kernel until an endpoint has a connection event. It polls once per wake-up.
func (s *side) waitFor(ep *verbs.Endpoint) *verbs.Event {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.tb.Context(), patience)
	defer cancel()
	for {
		require.NoError(s.tb, s.queue.Wait(ctx, 1))
		n := s.queue.Poll(s.into[:])
		for i := range s.into[:n] {
			if c := &s.into[i]; c.Stream == verbs.StreamConnection && c.Endpoint == ep {
				return c.Event
			}
		}
	}
}

// TestSleepersWakeForTimers checks that a sleeping goroutine wakes for events that only a timer
// causes.
func TestSleepersWakeForTimers(t *testing.T) {
	s := newSide(t, hasty(), 64)
	p := dial(t, s, s.listen().Address())
	f, err := strangerOffer().Request(nil)
	require.NoError(t, err)
	p.send(f.Append(nil))
	ep := s.endpoint()
	require.NoError(t, s.request().Accept(ep, nil))
	require.ErrorIs(t, s.waitFor(ep).Err, iwarp.ErrNoFirstMessage)
}

// TestSleepersWakeForOthersWork has one goroutine sleep while another one disconnects an endpoint. The sleeping
// goroutine has to wake.
func TestSleepersWakeForOthersWork(t *testing.T) {
	a, b := newSide(t, iwarp.Config{}, 64), newSide(t, iwarp.Config{}, 64)
	x, y := join(t, a, b)
	fell := make(chan struct{})
	go func() {
		defer close(fell)
		_ = b.queue.Wait(t.Context(), 1)
	}()
	// The sleeping goroutine has to notice the end of the connection, no matter whether it falls asleep before or
	// after the Disconnect.
	require.NoError(t, x.Disconnect(verbs.CloseGraceful))
	require.Equal(t, verbs.EventDisconnected, a.waitFor(x).Type)
	<-fell
	require.Equal(t, verbs.EventDisconnected, b.event(y).Type)

	x, y = join(t, a, b)
	asleep := make(chan struct{})
	fell = make(chan struct{})
	go func() {
		defer close(fell)
		close(asleep)
		a.waitFor(x)
	}()
	<-asleep
	require.NoError(t, x.Disconnect(verbs.CloseGraceful))
	require.Equal(t, verbs.EventDisconnected, b.waitFor(y).Type)
	<-fell
}
