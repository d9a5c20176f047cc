package rdmacm_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
)

// patience is the timeout for an event on an emulated machine.
const patience = 20 * time.Second

// device returns the address of the device under test. It skips the test if there is none.
func device(t *testing.T) netip.Addr {
	t.Helper()
	at := os.Getenv(deviceAddress)
	if at == "" {
		t.Skip("runs in a guest machine: see TestKernel")
	}
	return netip.MustParseAddr(at)
}

// deviceAddresses returns all addresses of the device's interface.
func deviceAddresses(t *testing.T) []netip.Addr {
	t.Helper()
	device(t)
	i, err := net.InterfaceByName(os.Getenv(deviceInterface))
	require.NoError(t, err)
	list, err := i.Addrs()
	require.NoError(t, err)
	var all []netip.Addr
	for _, a := range list {
		ip := netip.MustParsePrefix(a.String()).Addr()
		if ip.IsLinkLocalUnicast() {
			ip = ip.WithZone(i.Name)
		}
		all = append(all, ip)
	}
	require.Len(t, all, 3) // IPv4, IPv6, and link-local IPv6
	return all
}

// side is one side of a connection: a channel on which a test waits for events.
type side struct {
	*testing.T
	*rdmacm.Channel
}

func newSide(t *testing.T) *side {
	t.Helper()
	c, err := rdmacm.Open()
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &side{t, c}
}

// ready waits up to d for an event, and reports whether there is one.
func (s *side) ready(d time.Duration) bool {
	s.Helper()
	end := time.Now().Add(d)
	for {
		p := []unix.PollFd{{Fd: int32(s.Descriptor()), Events: unix.POLLIN}}
		n, err := unix.Poll(p, int(max(time.Until(end).Milliseconds(), 0)))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		require.NoError(s, err)
		return n == 1
	}
}

// any returns the next event.
func (s *side) any() rdmacm.Event {
	s.Helper()
	require.True(s, s.ready(patience), "no event")
	var e rdmacm.Event
	more, err := s.Next(&e)
	require.NoError(s, err)
	require.True(s, more)
	return e
}

// next returns the next event. The test fails if the event has another ID or another kind.
func (s *side) next(id *rdmacm.ID, kind rdmacm.Kind) rdmacm.Event {
	s.Helper()
	e := s.any()
	require.Equal(s, kind, e.Kind, "%v", e.Err())
	require.Same(s, id, e.ID)
	return e
}

// none checks that there is no event.
func (s *side) none() {
	s.Helper()
	require.False(s, s.ready(0))
	more, err := s.Next(new(rdmacm.Event))
	require.NoError(s, err)
	require.False(s, more)
}

func (s *side) create() *rdmacm.ID {
	s.Helper()
	id, err := s.Create(nil)
	require.NoError(s, err)
	return id
}

// listener makes a listener at a free port of an address.
func (s *side) listener(at netip.Addr, backlog int) (*rdmacm.ID, netip.AddrPort) {
	s.Helper()
	id := s.create()
	require.NoError(s, id.Bind(netip.AddrPortFrom(at, 0)))
	require.NoError(s, id.Listen(backlog))
	a, err := id.Addresses()
	require.NoError(s, err)
	require.Equal(s, at, a.Source.Addr())
	require.NotZero(s, a.Source.Port())
	return id, a.Source
}

// resolved returns an ID whose route is resolved, so that it can connect.
func (s *side) resolved(to netip.AddrPort) *rdmacm.ID {
	s.Helper()
	id := s.create()
	require.NoError(s, id.ResolveAddress(netip.AddrPort{}, to, patience))
	s.next(id, rdmacm.AddressResolved)
	require.NoError(s, id.ResolveRoute(patience))
	s.next(id, rdmacm.RouteResolved)
	return id
}

// guidOf returns the node GUID of the device on an interface, from sysfs.
func guidOf(t *testing.T) string {
	t.Helper()
	all, err := filepath.Glob("/sys/class/infiniband/*_" + os.Getenv(deviceInterface) + "/node_guid")
	require.NoError(t, err)
	require.Len(t, all, 1)
	text, err := os.ReadFile(all[0])
	require.NoError(t, err)
	return strings.ReplaceAll(strings.TrimSpace(string(text)), ":", "")
}
