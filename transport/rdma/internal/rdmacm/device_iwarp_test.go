package rdmacm_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// stranger is an endpoint of the iWARP provider in user space, which connects to siw over TCP.
type stranger struct {
	*testing.T
	endpoint *verbs.Endpoint
	queue    *verbs.CompletionQueue
}

func newStranger(t *testing.T, ip netip.Addr) *stranger {
	t.Helper()
	a, err := verbs.Open(iwarp.New(iwarp.Config{}), ip.String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	domain, err := a.NewProtectionDomain()
	require.NoError(t, err)
	queue, err := a.NewCompletionQueue(4)
	require.NoError(t, err)
	ep, err := a.NewEndpoint(verbs.EndpointConfig{Domain: domain, Connections: queue})
	require.NoError(t, err)
	return &stranger{t, ep, queue}
}

// connect asks for a connection with an IRD of 7 and an ORD of 5.
func (s *stranger) connect(at netip.AddrPort, privateData []byte) {
	s.Helper()
	require.NoError(s, s.endpoint.Connect(at, verbs.ConnectOptions{
		Timeout: patience, Param: &verbs.ConnParam{PrivateData: privateData, ResponderResources: 7, InitiatorDepth: 5},
	}))
}

// heard polls until the stranger has an event, and returns it.
func (s *stranger) heard() *verbs.Event {
	s.Helper()
	var got [1]verbs.Completion
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if n := s.queue.Poll(got[:]); n == 1 {
			return got[0].Event
		}
	}
	s.Fatal("no outcome")
	return nil
}

// await polls the stranger until siw has a request. The poll is needed because the stranger has no
// goroutine of its own.
func (s *stranger) await(passive *side) rdmacm.Event {
	s.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end) && !passive.ready(0); {
		s.queue.Poll(nil)
	}
	return passive.any()
}

// TestIWARPRejects checks that requests and rejects carry their private data unchanged.
func TestIWARPRejects(t *testing.T) {
	ip := device(t)
	passive := newSide(t)
	listener, at := passive.listener(ip, 4)
	for _, n := range []int{0, 1, 56, 252} {
		s := newStranger(t, ip)
		// siw stores the length of the private data in 8 bits, and adds 4 bytes of its own to the
		// data.
		question, answer := bytes.Repeat([]byte{1}, n), bytes.Repeat([]byte{2}, min(n, 251))
		s.connect(at, question)
		e := s.await(passive)
		require.Equal(t, rdmacm.ConnectRequest, e.Kind)
		require.Same(t, listener, e.ID)
		require.Equal(t, question, e.Parameters.PrivateData)
		require.EqualValues(t, 5, e.Parameters.ResponderResources)
		require.EqualValues(t, 7, e.Parameters.InitiatorDepth)
		a, err := e.Request.Addresses()
		require.NoError(t, err)
		require.Equal(t, at, a.Source)
		require.Equal(t, ip, a.Destination.Addr())
		require.NoError(t, e.Request.Reject(answer))
		require.NoError(passive, e.Request.Destroy())
		outcome := s.heard()
		require.Equal(t, verbs.EventPeerRejected, outcome.Type, "%v", outcome.Err)
		require.Equal(t, answer, outcome.PrivateData)
	}
	passive.none()
}

// TestIWARPNeedsQueuePair checks the error of a connect with the number of a queue pair that does
// not exist. siw looks up the queue pair.
func TestIWARPNeedsQueuePair(t *testing.T) {
	ip := device(t)
	active, passive := newSide(t), newSide(t)
	_, at := passive.listener(ip, 1)
	id := active.resolved(at)
	err := id.Connect(&rdmacm.Parameters{QPNumber: 0xffffff})
	require.ErrorIs(t, err, unix.EINVAL)
	require.ErrorContains(t, err, "(no such queue pair")
	passive.none()
}

// TestIWARPPending checks that destroying a listener ends a request that no call of Next has
// returned.
func TestIWARPPending(t *testing.T) {
	ip := device(t)
	passive := newSide(t)
	listener, at := passive.listener(ip, 1)
	s := newStranger(t, ip)
	s.connect(at, nil)
	for end := time.Now().Add(patience); time.Now().Before(end) && !passive.ready(0); {
		s.queue.Poll(nil)
	}
	require.NoError(passive, listener.Destroy())
	passive.none()
	require.NotEqual(t, verbs.EventEstablished, s.heard().Type)
}
