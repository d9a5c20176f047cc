package cost_test

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nulldevice"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// hosts returns two hosts of a fabric.
func hosts(discard bool, carried func()) [2]*nulldevice.Host {
	f := nulldevice.NewFabric()
	var list [2]*nulldevice.Host
	for i := range list {
		list[i] = &nulldevice.Host{Fabric: f, Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i) + 1}), Discard: discard, Carried: carried}
	}
	return list
}

// bare is a side that uses the device in the same way as ib_send_lat and ib_read_bw use their
// devices. It repeatedly posts the same request, and polls.
type bare struct {
	sync.Mutex
	device  provider.Device
	domain  provider.ProtectionDomain
	memory  provider.Registered
	bytes   []byte
	shared  provider.SharedReceiveQueue
	pair    provider.QueuePair
	request provider.Request
	// posted counts the requests that wait for Next. All requests are the same one. count is the
	// number of requests that the device has taken. complete is the number of requests that are done.
	posted          int
	established     bool
	count, complete uint64
	receive         provider.Receive
	// arrived counts the messages that have arrived and that await has not taken yet.
	arrived int
}

func (s *bare) Happened(provider.Event) {}

// Next, Done and the methods that follow implement the two queues of a bare side.
func (s *bare) Next() *provider.Request {
	if s.posted == 0 {
		return nil
	}
	s.posted--
	s.request.Number = s.count
	s.count++
	return &s.request
}

func (s *bare) DoneBefore(number uint64)                { s.complete = number }
func (s *bare) At(uint64) *provider.Request             { return &s.request }
func (s *bare) Single() *provider.Request               { return nil }
func (s *bare) TakeSingle()                             {}
func (s *bare) Len() int                                { return 0 }
func (s *bare) Done(*provider.Request)                  {}
func (s *bare) Fail(*provider.Request, provider.Status) {}

// bareReceives is the receive queue of a bare side.
type bareReceives struct{ *bare }

func (s bareReceives) Done(*provider.Receive, provider.Arrival) { s.arrived++ }
func (s bareReceives) Next() *provider.Receive                  { return nil }
func (s bareReceives) Peek() *provider.Receive                  { return nil }
func (s bareReceives) At(uint64) *provider.Receive              { return nil }
func (s bareReceives) Deliver(*provider.Receive, int)           {}
func (s bareReceives) Fail(*provider.Receive, provider.Status)  {}
func (s *bare) Failed(provider.Failure, []byte, error)          {}
func (s *bare) Disconnected()                                   {}
func (s *bare) Broken(error)                                    {}
func (s *bare) Established(*provider.Proposal, netip.AddrPort, netip.AddrPort) error {
	s.established = true
	return nil
}

// newBare makes two connected sides with memory of n bytes each.
func newBare(tb testing.TB, n int, discard bool, carried func()) [2]*bare {
	tb.Helper()
	var sides [2]*bare
	for i, h := range hosts(discard, carried) {
		s := &bare{bytes: make([]byte, n)}
		var err error
		s.device, err = h.Open(h.Addr.String(), s)
		require.NoError(tb, err)
		s.domain, err = s.device.NewProtectionDomain()
		require.NoError(tb, err)
		s.memory, err = s.domain.Register(s.bytes, provider.AccessLocalWrite|provider.AccessRemoteRead)
		require.NoError(tb, err)
		s.shared, err = s.device.NewSharedReceiveQueue(provider.SharedReceiveConfig{Domain: s.domain, MaxReceives: receives, MaxSegments: 1})
		require.NoError(tb, err)
		s.receive = provider.Receive{Segments: []provider.Segment{{Data: s.bytes, LKey: s.memory.LKey}}, Length: n}
		for range receives {
			s.shared.Post(&s.receive)
		}
		s.pair, _, err = s.device.NewQueuePair(provider.QueuePairConfig{
			Domain: s.domain, Attributes: s.device.Attributes().Endpoint, Sends: s, Receives: bareReceives{s}, Shared: s.shared, Upcalls: s,
		})
		require.NoError(tb, err)
		tb.Cleanup(func() {
			s.pair.Close()
			require.NoError(tb, s.device.Close())
		})
		sides[i] = s
	}
	var asked provider.Handshake
	point, err := sides[1].device.Listen(provider.ServicePointConfig{
		Arrived: func(h provider.Handshake, _, _ netip.AddrPort, _ *provider.Proposal) error {
			asked = h
			return nil
		},
	})
	require.NoError(tb, err)
	_, err = sides[0].pair.Connect(point.Address(), &provider.Proposal{})
	require.NoError(tb, err)
	sides[1].progress()
	asked.Accept(sides[1].pair, &provider.Proposal{})
	sides[0].progress()
	sides[1].progress()
	require.True(tb, sides[0].established && sides[1].established)
	return sides
}

// receives is the number of posted receives. It is larger than a window of messages.
const receives = 128

func (s *bare) progress() {
	_, err := s.device.Progress()
	check(err)
}

// post posts the request.
func (s *bare) post() {
	s.posted++
	s.pair.RequestsPosted()
}

func bareMessages(tb testing.TB, n int, carried func()) *dialogue {
	tb.Helper()
	d := &dialogue{}
	for i, s := range newBare(tb, n, false, carried) {
		s.request = provider.Request{Op: provider.OpSend, Length: n, Segments: []provider.Segment{{Data: s.bytes, LKey: s.memory.LKey}}}
		d.send[i] = s.post
		d.receive[i], d.flush[i] = s.await, s.progress
	}
	return d
}

// await polls until a message has arrived, and posts its receive again.
func (s *bare) await() {
	for s.arrived == 0 {
		s.progress()
	}
	s.arrived--
	s.shared.Post(&s.receive)
}

func bareReads(tb testing.TB, n, atOnce int) func() {
	tb.Helper()
	sides := newBare(tb, n, true, nil)
	s, of := sides[0], sides[1].memory
	s.request = provider.Request{
		Op: provider.OpRead, Length: n, Segments: []provider.Segment{{Data: s.bytes, LKey: s.memory.LKey}}, RKey: of.RKey, RemoteAddress: of.Address,
	}
	return func() {
		for range atOnce {
			s.post()
		}
		for s.complete != s.count {
			s.progress()
		}
	}
}
