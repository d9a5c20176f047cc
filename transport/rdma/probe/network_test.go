package probe_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/probe"
)

func prefixes(list ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range list {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

var (
	lo      = probe.Interface{Name: "lo", Up: true, Loopback: true, Virtual: true, Addresses: prefixes("127.0.0.1/8", "::1/128")}
	eth0    = probe.Interface{Name: "eth0", Up: true, Speed: 1000, Addresses: prefixes("fe80::1/64", "192.0.2.2/24", "fd00::2/64")}
	ib0     = probe.Interface{Name: "ib0", Up: true, Speed: 100000, Addresses: prefixes("10.1.0.7/16")}
	docker0 = probe.Interface{Name: "docker0", Up: true, Virtual: true, Speed: 1000000, Addresses: prefixes("172.17.0.1/16")}
	down0   = probe.Interface{Name: "down0", Addresses: prefixes("10.9.0.1/16")}
	bare0   = probe.Interface{Name: "bare0", Up: true}
	six0    = probe.Interface{Name: "six0", Up: true, Addresses: prefixes("fd01::5/64")}
	local0  = probe.Interface{Name: "local0", Up: true, Addresses: prefixes("fe80::5/64")}
)

// host returns a host with these interfaces and without RDMA devices of the kernel.
func host(interfaces ...probe.Interface) *probe.Host {
	return &probe.Host{
		Files:      fstest.MapFS{},
		Interfaces: func() ([]probe.Interface, error) { return interfaces, nil },
	}
}

func TestNetwork(t *testing.T) {
	cases := []struct {
		name, wish string
		there      []probe.Interface
		want       string // the address, or a part of the error
	}{
		{"a real network before loopback", "", []probe.Interface{lo, eth0}, "192.0.2.2"},
		{"only loopback", "", []probe.Interface{lo, bare0, down0}, "127.0.0.1"},
		{"only loopback of IPv6", "", []probe.Interface{{Name: "lo", Up: true, Loopback: true, Addresses: prefixes("::1/128")}}, "::1"},
		{"the faster one", "", []probe.Interface{lo, eth0, ib0}, "10.1.0.7"},
		{"no container network", "", []probe.Interface{lo, docker0, eth0}, "192.0.2.2"},
		{"a container network if there is no other", "", []probe.Interface{lo, docker0}, "172.17.0.1"},
		{"only IPv6", "", []probe.Interface{lo, six0}, "fd01::5"},
		{"loopback before link-local, whose zone means nothing elsewhere", "", []probe.Interface{lo, local0}, "127.0.0.1"},
		{"link-local if there is nothing else", "", []probe.Interface{local0, bare0}, "fe80::5%local0"},
		{"link-local when named, with its zone", "local0", []probe.Interface{lo, local0}, "fe80::5%local0"},
		{"nothing that is up", "", []probe.Interface{down0, bare0}, "no network interface is up and has an address"},
		{"no interface at all", "", nil, "no network interface is up and has an address"},

		{"by name", "eth0", []probe.Interface{lo, eth0, ib0}, "192.0.2.2"},
		{"loopback by name", "lo", []probe.Interface{lo, eth0}, "127.0.0.1"},
		{"by network", "10.0.0.0/8", []probe.Interface{lo, eth0, ib0}, "10.1.0.7"},
		{"by network with bits of the host", "192.0.2.77/24", []probe.Interface{lo, eth0}, "192.0.2.2"},
		{"by network of IPv6", "fd00::/16", []probe.Interface{lo, eth0}, "fd00::2"},
		{"by link-local network", "fe80::/10", []probe.Interface{lo, eth0}, "fe80::1%eth0"},
		{"any of IPv4", "0.0.0.0/0", []probe.Interface{lo, eth0}, "192.0.2.2"},
		{"by address", "fd00::2", []probe.Interface{lo, eth0, ib0}, "fd00::2"},
		{"by mapped address", "::ffff:192.0.2.2", []probe.Interface{lo, eth0}, "192.0.2.2"},
		{"by address with zone", "fe80::1%eth0", []probe.Interface{lo, eth0}, "fe80::1%eth0"},
		{"the first wish that fits", "nope0, 10.0.0.0/8,eth0", []probe.Interface{lo, eth0, ib0}, "10.1.0.7"},

		{"unknown name", "eth7", []probe.Interface{lo, eth0}, `-net eth7: there is no interface "eth7"; there are: lo 127.0.0.1/8 ::1/128 (loopback); eth0 fe80::1/64 192.0.2.2/24 fd00::2/64`},
		{"no such network", "10.0.0.0/8", []probe.Interface{lo, eth0}, "no interface has an address in 10.0.0.0/8; there are: lo"},
		{"no such address", "10.0.0.1", []probe.Interface{lo}, "no interface has the address 10.0.0.1"},
		{"another zone", "fe80::1%lo", []probe.Interface{lo, eth0}, "no interface has the address fe80::1%lo"},
		{"a network that is down", "10.9.0.0/16", []probe.Interface{lo, down0}, "interface down0 is down"},
		{"an interface that is down", "down0", []probe.Interface{lo, down0}, "interface down0 is down; there are: lo 127.0.0.1/8 ::1/128 (loopback); down0 10.9.0.1/16 (down)"},
		{"an interface without address", "bare0", []probe.Interface{lo, bare0}, "interface bare0 has no address; there are: lo 127.0.0.1/8 ::1/128 (loopback); bare0 (no address)"},
		{"every network", "0.0.0.0", []probe.Interface{lo, eth0}, "would listen on every network"},
		{"every network of IPv6", "::", []probe.Interface{lo, eth0}, "would listen on every network"},
		{"no network", "10.0.0.0/33", []probe.Interface{lo}, `"10.0.0.0/33" is no address and no network in CIDR form`},
		{"two wishes, none fits", "eth7,10.0.0.0/8", []probe.Interface{lo}, `there is no interface "eth7", no interface has an address in 10.0.0.0/8`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := host(c.there...).Network(c.wish)
			if err != nil {
				var network *probe.NetworkError
				require.ErrorAs(t, err, &network)
				require.ErrorIs(t, err, transport.ErrNotSupported)
				require.Contains(t, err.Error(), c.want)
				require.Len(t, network.Interfaces, len(c.there))
				return
			}
			require.Equal(t, c.want, got.String())
		})
	}
}

// TestRDMADevicePreferred checks that an interface with an active RDMA device is preferred.
func TestRDMADevicePreferred(t *testing.T) {
	h := host(lo, ib0, eth0)
	h.Files = kernel("mlx5_1", "1: CA", "Ethernet", "4: ACTIVE", "eth0")
	got, err := h.Network("")
	require.NoError(t, err)
	require.Equal(t, "192.0.2.2", got.String())
	h.Files = kernel("mlx5_1", "1: CA", "Ethernet", "1: DOWN", "eth0")
	got, err = h.Network("")
	require.NoError(t, err)
	require.Equal(t, "10.1.0.7", got.String())
}

func TestInterfacesCannotBeListed(t *testing.T) {
	h, broken := host(), errors.New("netlink is gone")
	h.Interfaces = func() ([]probe.Interface, error) { return nil, broken }
	_, err := h.Network("eth0")
	require.ErrorIs(t, err, broken)
}

// TestThisHost checks that a program can listen at the address that is chosen on this host.
func TestThisHost(t *testing.T) {
	for _, wish := range []string{"", "127.0.0.0/8"} {
		a, err := probe.System().Network(wish)
		if errors.Is(err, transport.ErrNotSupported) {
			t.Skipf("this host has no such network: %v", err)
		}
		require.NoError(t, err)
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
		require.NoError(t, err, "%v", a)
		require.NoError(t, l.Close())
	}
}

func FuzzWish(f *testing.F) {
	for _, seed := range []string{"", "eth0", "10.0.0.0/8", "fe80::1%eth0", "0.0.0.0", "::/0", ",,", "a/b", "fe80::/10%x"} {
		f.Add(seed)
	}
	h := host(lo, eth0, ib0, docker0, down0, bare0, six0, local0)
	f.Fuzz(func(t *testing.T, wish string) {
		a, err := h.Network(wish)
		if err != nil {
			require.ErrorIs(t, err, transport.ErrNotSupported)
			return
		}
		require.True(t, a.IsValid() && !a.IsUnspecified())
		require.NotEqual(t, "10.9.0.1", a.String()) // the address of an interface that is down
	})
}

func TestOwns(t *testing.T) {
	h := host(lo, eth0)
	for text, own := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "192.0.2.2": true, "::ffff:192.0.2.2": true, "fe80::1%eth0": true, "fd00::2": true,
		"192.0.2.3": false, "fd00::3": false, "0.0.0.0": false,
	} {
		require.Equal(t, own, h.Owns(netip.MustParseAddr(text)), text)
	}
	h.Interfaces = func() ([]probe.Interface, error) { return nil, errors.New("netlink is gone") }
	require.True(t, h.Owns(netip.MustParseAddr("127.0.0.1")))
	require.False(t, h.Owns(netip.MustParseAddr("192.0.2.2")))
}
