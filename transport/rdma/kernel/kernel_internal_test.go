package kernel

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

func limits() (*uverbs.Attributes, *uverbs.PortAttributes) {
	return &uverbs.Attributes{
		MaxWork: 1 << 20, MaxSegments: 6, MaxReadSegments: 1, MaxReadsIn: 300, MaxReadsOut: 128, MaxSharedQueues: 1, MaxSharedWork: 100, Atomics: true,
	}, &uverbs.PortAttributes{MaxMessage: 1<<32 - 1}
}

func placeOf(t uverbs.Transport) place {
	return place{device: uverbs.Device{Name: "a0", Transport: t}, prefixes: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}}
}

// TestAttributes checks that the provider's attributes are the values that the kernel reports, lowered to the
// maxima that the provider can use.
func TestAttributes(t *testing.T) {
	l, port := limits()
	a := attributesOf("x", placeOf(uverbs.TransportIWARP), l, port, 70)
	require.Equal(t, messageMost, a.MaxMessage)
	require.Equal(t, workMost, a.MaxRequests)
	require.Equal(t, 1, a.MaxReadSegments)
	require.Equal(t, depthMost, a.MaxReadsIn, "8 bits in librdmacm's messages, of which the last means the device's most")
	require.Equal(t, 128, a.MaxReadsOut)
	require.Equal(t, 100, a.MaxSharedReceives)
	require.True(t, a.ActiveSpeaksFirst)
	require.False(t, a.Atomics, "iWARP has none here, whatever the device says")
	require.False(t, a.ImmediateData)
	require.Equal(t, 70, a.MaxInline)
	require.Equal(t, 64, a.Endpoint.MaxInline)
	require.LessOrEqual(t, a.Endpoint.MaxRequests, a.MaxRequests)

	l.MaxSharedQueues, l.MaxReadSegments, l.MaxWork, l.MaxSegments, port.MaxMessage = 0, 0, 3, 2, 4096
	a = attributesOf("x", placeOf(uverbs.TransportInfiniBand), l, port, 0)
	require.Zero(t, a.MaxSharedReceives)
	require.Equal(t, 1, a.MaxReadSegments, "a device that says 0 has one")
	require.Equal(t, 4096, a.MaxRDMA)
	require.Equal(t, 3, a.Endpoint.MaxRequests)
	require.Equal(t, 2, a.Endpoint.MaxRequestSegments)
	require.True(t, a.Atomics && a.ImmediateData && a.WaitsForReceive && a.PadsPrivateData)
	require.True(t, a.HidesFlags)
	require.Zero(t, a.Endpoint.MaxInline)
}

// TestStatuses checks that no failed status of the device is reported as success.
func TestStatuses(t *testing.T) {
	for s := range 256 {
		require.NotEqual(t, provider.StatusSuccess, statusOf(uverbs.Status(s)), "%d", s)
	}
	require.Equal(t, provider.StatusRemoteAccess, statusOf(uverbs.StatusRemoteAccess))
	require.Equal(t, provider.StatusReceiverNotReady, statusOf(uverbs.StatusReceiverNotReady))
	require.Equal(t, provider.StatusTransport, statusOf(uverbs.StatusRetries))
	require.Equal(t, provider.StatusTransport, statusOf(200))
}

// TestOpenNothing checks that the error for a missing device names this device.
func TestOpenNothing(t *testing.T) {
	_, err := New(Config{}).Open("mlx5_0", nil)
	require.ErrorIs(t, err, provider.ErrInvalidParameter)
	require.ErrorIs(t, err, uverbs.ErrNoDevice)
	require.ErrorContains(t, err, "device mlx5_0")
}

// TestSharedReceives checks that the provider takes a shared receive only once, even if several completions
// name it.
func TestSharedReceives(t *testing.T) {
	s := &sharedReceives{posted: make([]*provider.Receive, 4)}
	for i := range 3 {
		s.posted[i] = &provider.Receive{Number: uint64(i)}
	}
	require.EqualValues(t, 1, s.take(1).Number)
	require.Nil(t, s.take(1))
	require.Nil(t, s.take(3), "not posted")
	require.Nil(t, s.take(4), "no such one")
	require.NotNil(t, s.take(0))
	require.NotNil(t, s.take(2))
}

// listener is an adapter that stores the kinds of all its events, and the last event.
type listener struct {
	provider.Adapter
	last provider.Event
	all  []provider.EventKind
}

func (l *listener) Happened(e provider.Event) { l.last, l.all = e, append(l.all, e.Kind) }

// TestRemovalNamesTheDevice checks that a removed device is reported with its name. The kernel may report the
// removal with an event of the device or of a connection.
func TestRemovalNamesTheDevice(t *testing.T) {
	l := &listener{}
	d := &device{adapter: l, name: "a0", wakeup: -1, failure: errFatal}
	require.NoError(t, d.takeEvents())
	require.Equal(t, provider.EventRemoved, l.last.Kind)
	require.EqualError(t, l.last.Err, "device a0: "+errFatal.Error())
	d.happened(provider.Event{Kind: provider.EventRemoved, Err: unix.ENODEV})
	require.EqualError(t, l.last.Err, "device a0: no such device")
	require.ErrorIs(t, l.last.Err, unix.ENODEV)
	d.happened(provider.Event{Kind: provider.EventPortUp})
	require.Equal(t, provider.Event{Kind: provider.EventPortUp}, l.last)
}
