package nulldevice_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nulldevice"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// patience is the timeout of a test that would otherwise hang.
const patience = 30 * time.Second

// side is one end of a connection, and the device of its adapter.
type side struct {
	*nulldevice.Host
	device   provider.Device
	adapter  *verbs.Adapter
	queue    *verbs.CompletionQueue
	endpoint *verbs.Endpoint
	region   *verbs.MemoryRegion
}

// Open implements provider.Provider.
func (s *side) Open(name string, a provider.Adapter) (provider.Device, error) {
	var err error
	s.device, err = s.Host.Open(name, a)
	return s.device, err
}

func newSide(t *testing.T, f *nulldevice.Fabric, host byte) *side {
	t.Helper()
	s := &side{Host: &nulldevice.Host{Fabric: f, Addr: netip.AddrFrom4([4]byte{10, 0, 0, host})}}
	var err error
	s.adapter, err = verbs.Open(s, s.Addr.String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.adapter.Close()) })
	d, err := s.adapter.NewProtectionDomain()
	require.NoError(t, err)
	s.region, err = d.Register(make([]byte, 8), verbs.AccessLocalWrite)
	require.NoError(t, err)
	s.queue, err = s.adapter.NewCompletionQueue(64)
	require.NoError(t, err)
	s.endpoint, err = s.adapter.NewEndpoint(verbs.EndpointConfig{Domain: d, Receives: s.queue, Requests: s.queue, Connections: s.queue})
	require.NoError(t, err)
	return s
}

// next makes progress on both sides until a completion is queued at s, and returns it.
func (s *side) next(t *testing.T, peer *side) verbs.Completion {
	t.Helper()
	var into [1]verbs.Completion
	for range 100 {
		peer.adapter.Progress()
		if s.queue.Poll(into[:]) == 1 {
			return into[0]
		}
	}
	require.FailNow(t, "no completion")
	return verbs.Completion{}
}

// TestDrainEndsSleep disconnects gracefully after a request that is not signalled, while a goroutine may be about to
// sleep. The test checks that the completion of the request ends the Sleep.
func TestDrainEndsSleep(t *testing.T) {
	f := nulldevice.NewFabric()
	a, b := newSide(t, f, 1), newSide(t, f, 2)
	l, err := b.adapter.Listen(verbs.ListenOptions{Queue: b.queue})
	require.NoError(t, err)
	require.NoError(t, b.endpoint.PostReceive(&verbs.ReceiveRequest{Segments: []verbs.Segment{b.region.Segment(0, 8)}}))
	require.NoError(t, a.endpoint.Connect(l.Address(), verbs.ConnectOptions{Timeout: verbs.TimeoutInfinite}))
	require.NoError(t, b.next(t, a).Event.Request.Accept(b.endpoint, nil))
	require.Equal(t, verbs.EventEstablished, a.next(t, b).Event.Type)
	require.Equal(t, verbs.EventEstablished, b.next(t, a).Event.Type)
	require.NoError(t, a.endpoint.Post(&verbs.WorkRequest{
		Op: verbs.OpSend, Flags: verbs.FlagUnsignalled, Segments: []verbs.Segment{a.region.Segment(0, 8)},
	}))

	for !a.device.Idle() {
		a.adapter.Progress()
	}
	require.NoError(t, a.endpoint.Disconnect(verbs.CloseGraceful))
	slept := make(chan struct{})
	go func() {
		defer close(slept)
		a.device.Sleep(time.Time{})
	}()
	select {
	case <-slept:
	case <-time.After(patience):
		t.Error("Sleep does not end although a completion can be reported")
		a.device.Wake()
		<-slept
	}
	require.Equal(t, verbs.StreamReceive, b.next(t, a).Stream)
	require.Equal(t, verbs.EventDisconnected, a.next(t, b).Event.Type)
}

// TestDeregisterKnowsItsKeys checks that a domain deregisters only its own memory, and only once.
func TestDeregisterKnowsItsKeys(t *testing.T) {
	s := newSide(t, nulldevice.NewFabric(), 1)
	own, err := s.device.NewProtectionDomain()
	require.NoError(t, err)
	other, err := s.device.NewProtectionDomain()
	require.NoError(t, err)
	keys, err := own.Register(make([]byte, 8), provider.AccessRemoteRead)
	require.NoError(t, err)
	require.ErrorIs(t, other.Deregister(keys), provider.ErrInvalidHandle)
	require.NoError(t, own.Deregister(keys))
	require.ErrorIs(t, own.Deregister(keys), provider.ErrInvalidHandle)
}
