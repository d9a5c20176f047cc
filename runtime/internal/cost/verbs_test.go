package cost_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// verbsSide is a side of a dialogue (level_test.go) that uses package verbs as ib_send_lat and
// ib_read_bw use libibverbs.
type verbsSide struct {
	adapter  *verbs.Adapter
	queue    *verbs.CompletionQueue
	region   *verbs.MemoryRegion
	shared   *verbs.SharedReceiveQueue
	endpoint *verbs.Endpoint
	request  verbs.WorkRequest
	receive  verbs.ReceiveRequest
	into     [1]verbs.Completion
}

// newVerbs makes two connected sides with memory of n bytes each.
func newVerbs(tb testing.TB, n int, discard bool, carried func()) [2]*verbsSide {
	tb.Helper()
	var sides [2]*verbsSide
	for i, h := range hosts(discard, carried) {
		s := &verbsSide{}
		var err error
		s.adapter, err = verbs.Open(h, h.Addr.String())
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, s.adapter.Close()) })
		domain, err := s.adapter.NewProtectionDomain()
		require.NoError(tb, err)
		s.region, err = domain.Register(make([]byte, n), verbs.AccessLocalWrite|verbs.AccessRemoteRead)
		require.NoError(tb, err)
		s.queue, err = s.adapter.NewCompletionQueue(4 * receives)
		require.NoError(tb, err)
		s.shared, err = s.adapter.NewSharedReceiveQueue(verbs.SharedReceiveConfig{Domain: domain, MaxReceives: receives, MaxSegments: 1})
		require.NoError(tb, err)
		s.receive = verbs.ReceiveRequest{Segments: []verbs.Segment{s.region.Segment(0, n)}}
		for range receives {
			require.NoError(tb, s.shared.PostReceive(&s.receive))
		}
		attributes := s.adapter.Attributes().Endpoint
		attributes.MaxRequests = receives
		s.endpoint, err = s.adapter.NewEndpoint(verbs.EndpointConfig{
			Domain: domain, Receives: s.queue, Requests: s.queue, Connections: s.queue, SharedReceives: s.shared, Attributes: &attributes,
		})
		require.NoError(tb, err)
		sides[i] = s
	}
	listener, err := sides[1].adapter.Listen(verbs.ListenOptions{Queue: sides[1].queue})
	require.NoError(tb, err)
	require.NoError(tb, sides[0].endpoint.Connect(listener.Address(), verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite}))
	require.NoError(tb, sides[1].poll(verbs.StreamConnectionRequest).Event.Request.Accept(sides[1].endpoint, nil))
	for _, s := range sides {
		require.Equal(tb, verbs.EventEstablished, s.poll(verbs.StreamConnection).Event.Type)
	}
	return sides
}

// poll polls until a completion of a stream comes.
func (s *verbsSide) poll(stream verbs.Stream) *verbs.Completion {
	for s.queue.Poll(s.into[:]) == 0 || s.into[0].Stream != stream {
	}
	return &s.into[0]
}

func verbsMessages(tb testing.TB, n int, carried func()) *dialogue {
	tb.Helper()
	d := &dialogue{}
	for i, s := range newVerbs(tb, n, false, carried) {
		s.request = verbs.WorkRequest{Op: verbs.OpSend, Segments: []verbs.Segment{s.region.Segment(0, n)}}
		d.send[i] = s.post
		d.flush[i] = func() { s.queue.Poll(s.into[:]) }
		d.receive[i] = func() {
			s.poll(verbs.StreamReceive)
			check(s.shared.PostReceive(&s.receive))
		}
	}
	return d
}

// post posts the request.
func (s *verbsSide) post() { check(s.endpoint.Post(&s.request)) }

func verbsReads(tb testing.TB, n, atOnce int) func() {
	tb.Helper()
	sides := newVerbs(tb, n, true, nil)
	s, of := sides[0], sides[1].region.Remote(0, n)
	s.request = verbs.WorkRequest{Op: verbs.OpRead, Segments: []verbs.Segment{s.region.Segment(0, n)}, RKey: of.RKey, RemoteAddress: of.Address}
	return func() {
		for range atOnce {
			s.post()
		}
		for range atOnce {
			s.poll(verbs.StreamRequest)
		}
	}
}
