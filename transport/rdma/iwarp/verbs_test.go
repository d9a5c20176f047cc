package iwarp_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/certificate"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/verbstest"
)

// spy is a provider that stores its devices.
type spy struct {
	*iwarp.Provider
	devices []provider.Device
}

func (s *spy) Open(name string, a provider.Adapter) (provider.Device, error) {
	d, err := s.Provider.Open(name, a)
	if err == nil {
		s.devices = append(s.devices, d)
	}
	return d, err
}

// harness opens adapters on an interface.
type harness struct {
	spy  *spy
	name string
	// secure is nil without TLS.
	secure *certificate.Sides
}

// Open implements verbstest.Harness.
func (h *harness) Open(tb testing.TB) *verbs.Adapter {
	tb.Helper()
	a, err := verbs.Open(h.spy, h.name)
	require.NoError(tb, err)
	return a
}

// Inject implements verbstest.Harness.
func (h *harness) Inject(tb testing.TB, f verbstest.Fault) (verbstest.Scene, bool) {
	tb.Helper()
	address := netip.MustParseAddr(h.name)
	switch f {
	case verbstest.FaultUnreachable:
		// Loopback has no route to 198.51.100.1, an address that is reserved for documentation.
		remote := "198.51.100.1:7471"
		if address.Is6() {
			remote = "[2001:db8::1]:7471"
		}
		return verbstest.Scene{Remote: netip.MustParseAddrPort(remote)}, true
	case verbstest.FaultSilence:
		return verbstest.Scene{Remote: silence(tb, address)}, true
	case verbstest.FaultTransport:
		l, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
		require.NoError(tb, err)
		gone := make(chan struct{})
		tb.Cleanup(func() {
			require.NoError(tb, l.Close())
			<-gone
		})
		go func() {
			defer close(gone)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.(*net.TCPConn).SetLinger(0)
				_ = c.Close()
			}
		}()
		return verbstest.Scene{Remote: l.Addr().(*net.TCPAddr).AddrPort()}, true
	case verbstest.FaultCut:
		return verbstest.Scene{Cut: func(ep *verbs.Endpoint) {
			i, err := ep.Query()
			require.NoError(tb, err)
			for _, d := range h.spy.devices {
				if iwarp.Cut(d, i.Local) {
					return
				}
			}
			require.FailNow(tb, "no connection to cut")
		}}, true
	case verbstest.FaultMute:
		// With revision 1 this side sends no RTR, and with this pause it sends no nudge (see nudgesMax). So
		// the peer gets no FPDU.
		p := iwarp.New(iwarp.Config{Revision: 1, Pause: time.Hour})
		if h.secure != nil {
			seal(p, h.secure)
		}
		a, err := verbs.Open(p, h.name)
		require.NoError(tb, err)
		return verbstest.Scene{Adapter: a}, true
	default:
		return verbstest.Scene{}, false
	}
}

// ReadsUnderWay implements verbstest.Observer.
func (h *harness) ReadsUnderWay(tb testing.TB, ep *verbs.Endpoint) int {
	tb.Helper()
	i, err := ep.Query()
	require.NoError(tb, err)
	n := 0
	for _, d := range h.spy.devices {
		n += iwarp.ReadsUnderWay(d, i.Local, i.Remote)
	}
	return n
}

// silence returns the address of a socket whose backlog is full, so that the system drops further connection
// requests.
func silence(tb testing.TB, a netip.Addr) netip.AddrPort {
	tb.Helper()
	var where unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	family := unix.AF_INET
	if a.Is6() {
		where, family = &unix.SockaddrInet6{Addr: a.As16()}, unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, unix.Close(fd)) })
	require.NoError(tb, unix.Bind(fd, where))
	require.NoError(tb, unix.Listen(fd, 0))
	s, err := unix.Getsockname(fd)
	require.NoError(tb, err)
	var port int
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		port = s.Port
	case *unix.SockaddrInet6:
		port = s.Port
	}
	to := netip.AddrPortFrom(a, uint16(port))
	for range 2 {
		c, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, unix.Close(c)) })
		_ = unix.Connect(c, s) // the connect is in progress
	}
	return to
}

// TestVerbsEncrypted does the same as TestVerbs, but over TLS.
func TestVerbsEncrypted(t *testing.T) {
	verbstest.Run(t, func(tb testing.TB) verbstest.Harness {
		tb.Helper()
		h := &harness{spy: &spy{Provider: iwarp.New(iwarp.Config{})}, name: loopback, secure: secret(tb)}
		seal(h.spy.Provider, h.secure)
		return h
	})
}

// TestVerbs runs the specification of package verbs (verbstest). Revision 1 of MPA is left out. Its frames
// carry no depths, so the statements of the specification about the negotiation of depths do not hold.
func TestVerbs(t *testing.T) {
	for name, c := range map[string]iwarp.Config{"default": {}, "no CRC, short segments": {NoCRC: true, SegmentMax: 100}} {
		t.Run(name, func(t *testing.T) {
			verbstest.Run(t, func(testing.TB) verbstest.Harness {
				return &harness{spy: &spy{Provider: iwarp.New(c)}, name: loopback}
			})
		})
	}
	t.Run("IPv6", func(t *testing.T) {
		a, err := verbs.Open(iwarp.New(iwarp.Config{}), "::1")
		if err != nil {
			t.Skipf("no IPv6 loopback: %v", err)
		}
		require.NoError(t, a.Close())
		verbstest.Run(t, func(testing.TB) verbstest.Harness {
			return &harness{spy: &spy{Provider: iwarp.New(iwarp.Config{})}, name: "::1"}
		})
	})
}
