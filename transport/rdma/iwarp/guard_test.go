package iwarp_test

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// guarded makes a guarded endpoint.
func (s *side) guarded() *verbs.Endpoint {
	s.tb.Helper()
	ep, err := s.adapter.NewEndpoint(verbs.EndpointConfig{
		Domain: s.domain, Receives: s.queue, Requests: s.queue, Connections: s.queue, Guarded: true,
	})
	require.NoError(s.tb, err)
	return ep
}

// receive posts a receive of 16 bytes of the memory.
func (s *side) receive(ep *verbs.Endpoint, id uint64) {
	s.tb.Helper()
	require.NoError(s.tb, ep.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{s.region.Segment(int(id)*16, 16)}}))
}

// TestGuardedTakesOneSend checks that a guarded passive endpoint delivers the first Send and nothing else until
// Trust is called. After Trust the endpoint processes the messages that follow the first Send. The bytes arrive
// at once, in pieces, or one at a time.
func TestGuardedTakesOneSend(t *testing.T) {
	for name, split := range map[string]int{"at once": 1 << 16, "in pieces": 7, "byte by byte": 1} {
		t.Run(name, func(t *testing.T) {
			s := newSide(t, iwarp.Config{}, 4096)
			l := s.listen()
			ep := s.guarded()
			s.receive(ep, 1)
			s.receive(ep, 2)
			p := dial(t, s, l.Address())
			p.open(strangerOffer(), ep)
			target, to := s.region.Segment(1000, 64), s.region.Remote(1000, 64)
			stream := bytes.Join([][]byte{
				p.fpdu(message(1, []byte("a proof"))), p.fpdu(write(to.RKey, to.Address, bytes.Repeat([]byte{7}, 64))),
				p.fpdu(message(2, []byte("a message"))),
			}, nil)
			for at := 0; at < len(stream); at += split {
				p.send(stream[at:min(at+split, len(stream))])
				s.poll()
			}
			require.Equal(t, 7, s.done(ep, 1).Length)
			for range 1000 {
				s.poll()
			}
			require.Empty(t, s.log, "the second message was taken")
			require.Equal(t, make([]byte, 64), target.Data, "a Write was taken")
			ep.Trust()
			require.Equal(t, 9, s.done(ep, 2).Length)
			require.Equal(t, bytes.Repeat([]byte{7}, 64), target.Data)
			require.Equal(t, "a message", string(s.memory[32:32+9]))
		})
	}
}

// TestGuardedRefusesBeforeTheProof checks that a guarded endpoint ends the connection if the first message is one that
// guardSend does not accept, for example a Write or a Read that is not empty, a Send that is longer than its receive,
// or a Send that invalidates an STag. The message must not change memory.
func TestGuardedRefusesBeforeTheProof(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 4096)
	l := s.listen()
	to := s.region.Remote(1000, 64)
	for name, ulpdu := range map[string][]byte{
		"a Write":           write(to.RKey, to.Address, []byte{7}),
		"a Read":            readRequest(1, rdmap.ReadRequest{SinkSTag: 1, Size: 1, SourceSTag: to.RKey, SourceTO: to.Address}),
		"a revoking Send":   untagged(ddp.Untagged{Last: true, Control: rdmap.SendOpcode(false, true).Control(), MSN: 1, ULP: to.RKey}, []byte("x")),
		"a Read Response":   response(1, 0, []byte{7}),
		"no opcode at all":  {0x41, 0x4F, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"a long first part": untagged(ddp.Untagged{Control: rdmap.Send.Control(), MSN: 1}, make([]byte, 17)),
	} {
		t.Run(name, func(t *testing.T) {
			ep := s.guarded()
			s.receive(ep, 1)
			p := dial(t, s, l.Address())
			p.open(strangerOffer(), ep)
			p.send(p.fpdu(ulpdu))
			p.terminated()
			require.Equal(t, verbs.EventBroken, s.event(ep).Type)
			require.Zero(t, s.memory[1000])
			ep.Trust() // has no effect on an ended connection
			require.NoError(t, ep.Free())
		})
	}
}

// TestGuardedRefusesWhatIsCompressed checks that a guarded endpoint ends the connection when the first Send is
// compressed. The payload is neither decompressed nor delivered.
func TestGuardedRefusesWhatIsCompressed(t *testing.T) {
	for name, split := range map[string]int{"at once": 1 << 16, "in pieces": 3} {
		t.Run(name, func(t *testing.T) {
			s := newSide(t, iwarp.Config{}, 4096)
			l := s.listen()
			ep := s.guarded()
			s.receive(ep, 1)
			p := dial(t, s, l.Address())
			o := strangerOffer()
			o.Kin = true
			p.open(o, ep)
			packed := message(1, s2.Encode(nil, []byte("a proof")))
			packed[0] |= 0x20
			stream := p.fpdu(packed)
			for at := 0; at < len(stream); at += split {
				p.send(stream[at:min(at+split, len(stream))])
				s.poll()
			}
			p.terminated()
			require.Equal(t, verbs.EventBroken, s.event(ep).Type)
			require.Equal(t, verbs.StatusFlushed, s.done(ep, 1).Status, "it was delivered")
			require.Equal(t, make([]byte, 16), s.memory[16:32])
			require.NoError(t, ep.Free())
		})
	}
}

// TestGuardedActiveTakesNothing checks that a guarded active endpoint processes no data of the accepting peer
// before Trust is called.
func TestGuardedActiveTakesNothing(t *testing.T) {
	a, b := newSide(t, iwarp.Config{}, 4096), newSide(t, iwarp.Config{}, 4096)
	l := b.listen()
	x, y := a.guarded(), b.endpoint()
	a.receive(x, 1)
	require.NoError(t, x.Connect(l.Address(), sameProvider(nil)))
	require.NoError(t, b.request(a).Accept(y, nil))
	require.Equal(t, verbs.EventEstablished, a.event(x, b).Type)
	require.Equal(t, verbs.EventEstablished, b.event(y, a).Type)
	copy(b.memory, "a message")
	to := a.region.Remote(1000, 64)
	require.NoError(t, y.Post(&verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Segments: []verbs.Segment{b.region.Segment(0, 9)}, RKey: to.RKey, RemoteAddress: to.Address}))
	require.NoError(t, y.Post(&verbs.WorkRequest{ID: 2, Op: verbs.OpSend, Segments: []verbs.Segment{b.region.Segment(0, 9)}}))
	b.done(y, 2, a)
	for range 1000 {
		a.poll()
	}
	require.Empty(t, a.log)
	require.Zero(t, a.memory[1000])
	x.Trust()
	require.Equal(t, 9, a.done(x, 1, b).Length)
	require.Equal(t, "a message", string(a.memory[1000:1009]))
	require.NoError(t, l.Close())
}
