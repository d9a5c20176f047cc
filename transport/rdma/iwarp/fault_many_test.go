package iwarp_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestSelfConnect tests a part of fault 9 of docs/connection-model.md, "Faults and tests": an adapter connects
// to itself.
func TestSelfConnect(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 64)
	x, y := join(t, s, s)
	require.NoError(t, y.PostReceive(&verbs.ReceiveRequest{ID: 1}))
	require.NoError(t, x.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend}))
	require.Equal(t, verbs.StatusSuccess, s.done(y, 1).Status)
}

// TestListenerClosesWithRequestsPending tests a part of fault 9: a listener is closed while requests are
// pending. The consumer can still accept the request that it has taken. The other requests are refused.
func TestListenerClosesWithRequestsPending(t *testing.T) {
	a, b := newSide(t, iwarp.Config{}, 64), newSide(t, iwarp.Config{}, 64)
	l := b.listen()
	seen, unseen := a.endpoint(), a.endpoint()
	require.NoError(t, seen.Connect(l.Address(), connectOptions(nil)))
	r := b.request(a)
	stranger := dial(t, b, l.Address())
	b.poll()
	require.NoError(t, unseen.Connect(l.Address(), connectOptions(nil)))
	require.NoError(t, l.Close())
	require.NoError(t, r.Accept(b.endpoint(), nil), "a request handed out stays valid")
	require.Equal(t, verbs.EventEstablished, a.event(seen, b).Type)
	require.Equal(t, verbs.EventNonPeerRejected, a.event(unseen, b).Type)
	stranger.ended()
}

// TestBacklogOverflow tests a part of fault 9: a request that does not fit into the backlog is refused.
func TestBacklogOverflow(t *testing.T) {
	a, b := newSide(t, iwarp.Config{}, 64), newSide(t, iwarp.Config{}, 64)
	l, err := b.adapter.Listen(verbs.ListenOptions{Queue: b.queue, Backlog: 1})
	require.NoError(t, err)
	first, second := a.endpoint(), a.endpoint()
	require.NoError(t, first.Connect(l.Address(), connectOptions(nil)))
	r := b.request(a)
	require.NoError(t, second.Connect(l.Address(), connectOptions(nil)))
	require.Equal(t, verbs.EventNonPeerRejected, a.event(second, b).Type)
	require.NoError(t, r.Accept(b.endpoint(), nil))
	require.Equal(t, verbs.EventEstablished, a.event(first, b).Type)
}

// TestManyConnects tests a part of fault 9: 1000 endpoints connect at the same time, and each connection carries
// a message.
func TestManyConnects(t *testing.T) {
	const many = 1000
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	if limit.Cur < 2*many+100 {
		t.Skipf("%d descriptors are allowed, %d are needed", limit.Cur, 2*many+100)
	}
	a, b := newSide(t, iwarp.Config{}, 64), newSide(t, iwarp.Config{}, 64)
	l, err := b.adapter.Listen(verbs.ListenOptions{Queue: b.queue, Backlog: many})
	require.NoError(t, err)
	small := func(e *verbs.EndpointAttributes) { e.MaxReceives, e.MaxRequests = 1, 2 }
	xs, ys := make([]*verbs.Endpoint, many), make([]*verbs.Endpoint, many)
	for i := range xs {
		xs[i] = a.endpoint(small)
		require.NoError(t, xs[i].Connect(l.Address(), connectOptions(nil)))
	}
	for i := range ys {
		ys[i] = b.endpoint(small)
		require.NoError(t, ys[i].PostReceive(&verbs.ReceiveRequest{ID: 7}))
		require.NoError(t, b.request(a).Accept(ys[i], nil))
	}
	for i := range xs {
		require.Equal(t, verbs.EventEstablished, a.event(xs[i], b).Type)
		require.NoError(t, xs[i].Post(&verbs.WorkRequest{ID: 8, Op: verbs.OpSend, Flags: verbs.FlagUnsignalled}))
	}
	for i := range ys {
		require.Equal(t, verbs.EventEstablished, b.event(ys[i], a).Type)
		require.Equal(t, verbs.StatusSuccess, b.done(ys[i], 7, a).Status)
	}
}

// TestDescriptorsExhausted tests a part of fault 9: a connection request waits until a descriptor is free.
func TestDescriptorsExhausted(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 64)
	l := s.listen()
	p := dial(t, s, l.Address())
	f, err := strangerOffer().Request(nil)
	require.NoError(t, err)
	p.send(f.Append(nil))
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	low := limit
	low.Cur = 3
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	restore := func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }
	for range 100 {
		s.poll()
	}
	if len(s.log) > 0 {
		restore()
		require.Empty(t, s.log)
	}
	err = s.endpoint().Connect(l.Address(), connectOptions(nil))
	restore()
	require.ErrorIs(t, err, verbs.ErrInsufficientResources)
	s.request()
}

// TestAcceptAfterThePeerIsGone tests a part of fault 9: the consumer accepts a request whose peer has closed or
// reset the connection. The endpoint reports an error.
func TestAcceptAfterThePeerIsGone(t *testing.T) {
	for _, linger := range []int{-1, 0} {
		s := newSide(t, iwarp.Config{}, 64)
		p := dial(t, s, s.listen().Address())
		f, err := strangerOffer().Request(nil)
		require.NoError(t, err)
		p.send(f.Append(nil))
		r := s.request()
		require.NoError(t, p.conn.SetLinger(linger))
		require.NoError(t, p.conn.Close())
		ep := s.endpoint()
		require.NoError(t, r.Accept(ep, nil))
		require.Equal(t, verbs.EventAcceptCompletionError, s.event(ep).Type)
	}
}

// TestRTRLost tests a part of fault 9: after the reply, the peer resets the connection, ends its stream,
// sends nothing, sends a part of its first FPDU, or sends this FPDU with a wrong CRC.
func TestRTRLost(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(p *peer)
		want error
	}{
		"reset":  {func(p *peer) { _ = p.conn.SetLinger(0); _ = p.conn.Close() }, unix.ECONNRESET},
		"end":    {func(p *peer) { _ = p.conn.CloseWrite() }, iwarp.ErrHungUp},
		"part":   {func(p *peer) { p.send(p.fpdu(write(1, 0, nil))[:5]) }, iwarp.ErrNoFirstMessage},
		"silent": {func(*peer) {}, iwarp.ErrNoFirstMessage},
		"broken": {func(p *peer) {
			b := p.fpdu(write(1, 0, nil))
			b[5] ^= 1
			p.send(b)
		}, mpa.ErrCRC},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSide(t, hasty(), 64)
			p := dial(t, s, s.listen().Address())
			f, err := strangerOffer().Request(nil)
			require.NoError(t, err)
			p.send(f.Append(nil))
			ep := s.endpoint()
			require.NoError(t, s.request().Accept(ep, nil))
			p.frame()
			c.end(p)
			e := s.event(ep)
			require.Equal(t, verbs.EventAcceptCompletionError, e.Type)
			require.ErrorIs(t, e.Err, c.want)
		})
	}
}

// TestPassiveSpeaksFirst tests a part of faults 3 and 9: a passive peer sends its first FPDU together with its
// reply, before the active side has sent an FPDU. The active side accepts this FPDU.
func TestPassiveSpeaksFirst(t *testing.T) {
	s := newSide(t, hasty(), 64)
	l, at := host(t)
	ep := s.endpoint()
	require.NoError(t, ep.PostReceive(&verbs.ReceiveRequest{ID: 1, Segments: []verbs.Segment{s.region.Segment(0, 64)}}))
	require.NoError(t, ep.Connect(at, connectOptions(nil)))
	p := pick(t, s, l)
	p.frame()
	reply := mpa.Frame{Reply: true, CRC: true, Revision: 2, Enhanced: true, PrivateData: []byte{0x80, 1, 0x80, 1}}.Append(nil)
	p.send(append(reply, p.fpdu(message(1, []byte("early")))...))
	require.Equal(t, verbs.EventEstablished, s.event(ep).Type)
	require.Equal(t, 5, s.done(ep, 1).Length)
}

// TestSharedReceives has several connections consume receives of one shared receive queue. The test checks that each
// message arrives in the receive that its completion names.
func TestSharedReceives(t *testing.T) {
	a, b := newSide(t, iwarp.Config{}, 64), newSide(t, iwarp.Config{}, 4096)
	srq, err := b.adapter.NewSharedReceiveQueue(verbs.SharedReceiveConfig{Domain: b.domain, MaxReceives: 16, MaxSegments: 1})
	require.NoError(t, err)
	var xs, ys []*verbs.Endpoint
	l := b.listen()
	for range 4 {
		x := a.endpoint()
		y, err := b.adapter.NewEndpoint(verbs.EndpointConfig{
			Domain: b.domain, Receives: b.queue, Requests: b.queue, Connections: b.queue, SharedReceives: srq,
		})
		require.NoError(t, err)
		require.NoError(t, x.Connect(l.Address(), connectOptions(nil)))
		require.NoError(t, b.request(a).Accept(y, nil))
		a.event(x, b)
		b.event(y, a)
		xs, ys = append(xs, x), append(ys, y)
	}
	for i := range 16 {
		require.NoError(t, srq.PostReceive(&verbs.ReceiveRequest{ID: uint64(i), Segments: []verbs.Segment{b.region.Segment(100*i, 100)}}))
	}
	for i := range 16 {
		fill(a.memory[:20], byte(i))
		require.NoError(t, xs[i%4].Post(&verbs.WorkRequest{ID: uint64(i), Op: verbs.OpSend, Segments: []verbs.Segment{a.region.Segment(0, 20)}}))
		c := b.await("receive", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamReceive }, a)
		require.Equal(t, verbs.StatusSuccess, c.Status)
		require.Equal(t, ys[i%4], c.Endpoint)
		at := 100 * int(c.ID)
		require.Equal(t, pattern(20, byte(i)), b.memory[at:at+20])
	}
}
