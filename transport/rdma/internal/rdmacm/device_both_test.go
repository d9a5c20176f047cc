package rdmacm_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
)

// TestDeviceResolves checks that addresses of all kinds resolve to the device.
func TestDeviceResolves(t *testing.T) {
	for _, ip := range deviceAddresses(t) {
		t.Run(ip.String(), func(t *testing.T) {
			active, passive := newSide(t), newSide(t)
			listener, at := passive.listener(ip, 1)
			a, err := listener.Addresses()
			require.NoError(t, err)
			require.Equal(t, guidOf(t), fmt.Sprintf("%016x", a.NodeGUID))
			id := active.resolved(at)
			a, err = id.Addresses()
			require.NoError(t, err)
			require.Equal(t, guidOf(t), fmt.Sprintf("%016x", a.NodeGUID))
			require.Equal(t, at, a.Destination)
			require.Equal(t, ip, a.Source.Addr())
			require.NotZero(t, a.Source.Port())
			attributes, err := id.Attributes(rdmacm.StateInit)
			require.NoError(t, err)
			require.Equal(t, rdmacm.StateInit, attributes.State)
			require.NotZero(t, attributes.Mask)
			require.NoError(active, id.Destroy())
			require.NoError(passive, listener.Destroy())
			active.none()
		})
	}
}

// TestDeviceNotReached checks the errors for addresses without a route, and for addresses in a
// network that no RDMA device reaches.
func TestDeviceNotReached(t *testing.T) {
	device(t)
	for _, to := range []string{"192.0.2.1:7", "10.0.2.2:7", "[2001:db8::1]:7"} {
		t.Run(to, func(t *testing.T) {
			s := newSide(t)
			id := s.create()
			err := id.ResolveAddress(netip.AddrPort{}, netip.MustParseAddrPort(to), time.Second)
			if err == nil {
				e := s.next(id, rdmacm.AddressError)
				err = e.Err()
			}
			t.Log(err)
			require.Error(t, err)
			require.NoError(t, id.Destroy())
		})
	}
	s := newSide(t)
	id := s.create()
	err := id.Bind(netip.MustParseAddrPort("192.0.2.1:7"))
	require.Error(t, err)
	t.Log(err)
	require.ErrorIs(t, id.Disconnect(), unix.EINVAL) // the ID has no device
	require.ErrorIs(t, id.ResolveRoute(time.Second), unix.EINVAL)
}

// TestDeviceAddressInUse checks that the address of a listener cannot be bound again.
func TestDeviceAddressInUse(t *testing.T) {
	ip := device(t)
	s := newSide(t)
	id := s.create()
	require.NoError(t, id.Bind(netip.AddrPortFrom(ip, 0)))
	require.NoError(t, id.Listen(0))
	other := s.create()
	a, err := id.Addresses()
	require.NoError(t, err)
	require.ErrorIs(t, other.Bind(a.Source), unix.EADDRINUSE)
}

// TestDeviceDestroyPending checks that the events of an ID that no call of Next has returned are
// discarded when the ID is destroyed.
func TestDeviceDestroyPending(t *testing.T) {
	ip := device(t)
	s := newSide(t)
	id := s.create()
	require.NoError(t, id.ResolveAddress(netip.AddrPort{}, netip.AddrPortFrom(ip, 7), patience))
	require.True(t, s.ready(patience))
	require.NoError(s, id.Destroy())
	s.none()
	id = s.create()
	require.NoError(t, id.ResolveAddress(netip.AddrPort{}, netip.AddrPortFrom(ip, 7), patience))
	s.next(id, rdmacm.AddressResolved)
	require.NoError(t, id.ResolveRoute(patience))
	require.True(t, s.ready(patience))
	require.NoError(s, id.Destroy())
	s.none()
}
