package iwarp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// TestSharedReceivesOfBrokenConnections ends a connection in the middle of a message. The test checks that
// exactly the receive of this message completes, with StatusFlushed. In one case the peer ends the connection,
// in two other cases the endpoint.
func TestSharedReceivesOfBrokenConnections(t *testing.T) {
	s := newSide(t, iwarp.Config{}, 64)
	l := s.listen()
	srq, err := s.adapter.NewSharedReceiveQueue(verbs.SharedReceiveConfig{Domain: s.domain, MaxReceives: 3, MaxSegments: 1})
	require.NoError(t, err)
	post := func(id uint64) {
		require.NoError(t, srq.PostReceive(&verbs.ReceiveRequest{ID: id, Segments: []verbs.Segment{s.region.Segment(int(id), 16)}}))
	}
	for id := range uint64(3) {
		post(id)
	}
	fpdu := mpa.AppendFPDU(nil, message(1, []byte("abcdefgh")), true)
	ends := map[string]func(p *peer, ep *verbs.Endpoint){
		"by the peer":   func(p *peer, _ *verbs.Endpoint) { require.NoError(t, p.conn.CloseWrite()) },
		"by Disconnect": func(_ *peer, ep *verbs.Endpoint) { require.NoError(t, ep.Disconnect(verbs.CloseAbrupt)) },
		"by Free":       func(_ *peer, ep *verbs.Endpoint) { require.NoError(t, ep.Free()) },
	}
	for name, end := range ends {
		ep, err := s.adapter.NewEndpoint(verbs.EndpointConfig{
			Domain: s.domain, Receives: s.queue, Requests: s.queue, Connections: s.queue, SharedReceives: srq,
		})
		require.NoError(t, err)
		p := dial(t, s, l.Address())
		p.open(strangerOffer(), ep)
		p.send(fpdu[:len(fpdu)-6]) // the header and most of the payload
		p.pump(func() bool { return s.memory[2] == 'a' })
		require.Equal(t, 3, srq.Len(), name)
		end(p, ep)
		c := s.await("receive", func(c *verbs.Completion) bool { return c.Stream == verbs.StreamReceive })
		require.Equal(t, verbs.StatusFlushed, c.Status, name)
		require.Equal(t, uint64(2), c.ID, "the one posted last")
		require.Equal(t, 2, srq.Len(), name)
		clear(s.memory)
		post(c.ID)
	}
}
