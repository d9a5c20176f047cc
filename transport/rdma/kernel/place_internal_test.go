package kernel

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
)

// addressesOf parses addresses.
func addressesOf(list ...string) []netip.Addr {
	all := make([]netip.Addr, 0, len(list))
	for _, s := range list {
		all = append(all, netip.MustParseAddr(s))
	}
	return all
}

// cluster is a host with four devices. The first is a RoCE device. Its interface has only a link-local address,
// and carries a VLAN and a bond. The others are a device with two ports, an iWARP device, and a device without
// an address.
var cluster = struct {
	devices  []uverbs.Device
	sites    map[string][]uverbs.Site
	prefixes map[string][]string
}{
	[]uverbs.Device{{Name: "mlx5_0"}, {Name: "mlx4_0"}, {Name: "siw0", Transport: uverbs.TransportIWARP}, {Name: "bare0"}},
	map[string][]uverbs.Site{
		"mlx5_0": {
			{Port: 1, Interface: "eth0", Addresses: addressesOf("fe80::1"), Version2: addressesOf("fe80::1")},
			{Port: 1, Interface: "eth0.100", Addresses: addressesOf("fe80::1", "10.1.0.1", "10.1.0.2"), Version2: addressesOf("10.1.0.2")},
			{Port: 1, Interface: "bond0", Addresses: addressesOf("10.2.0.1"), Version2: addressesOf("10.2.0.1")},
		},
		"mlx4_0": {{Port: 1, Interface: "ib0"}, {Port: 2, Interface: "ib1"}},
		"siw0":   {{Port: 1, Interface: "eth1"}},
		"bare0":  {{Port: 1, Interface: "eth9"}},
	},
	map[string][]string{
		"eth0": {"fe80::1/64"}, "eth0.100": {"fe80::1/64", "10.1.0.1/24", "10.1.0.2/24", "10.9.9.9/24"}, "bond0": {"10.2.0.1/24"},
		"ib0": {"10.3.0.1/24"}, "ib1": {"fd00::1/64", "10.4.0.1/24"}, "eth1": {"fe80::5/64", "10.5.0.1/24"},
	},
}

func chooseOfCluster(name string) (place, error) {
	return choose(cluster.devices, func(d *uverbs.Device) []uverbs.Site { return cluster.sites[d.Name] }, func(on string) []netip.Prefix {
		var all []netip.Prefix
		for _, p := range cluster.prefixes[on] {
			all = append(all, netip.MustParsePrefix(p))
		}
		return all
	}, name)
}

// TestPlaces checks that a device can be named by its name, a port, an interface or an address in any spelling.
// It also checks the address that the provider chooses: if possible, an address that other hosts can reach and,
// for RoCE, an address with a GID of RoCE v2.
func TestPlaces(t *testing.T) {
	for name, want := range map[string]string{
		"mlx5_0":                 "device mlx5_0, 10.1.0.2, RoCE v2", // a routable address with a GID of RoCE v2
		"eth0":                   "device mlx5_0, fe80::1, RoCE v2",
		"eth0.100":               "device mlx5_0, 10.1.0.2, RoCE v2",
		"bond0":                  "device mlx5_0, 10.2.0.1, RoCE v2",
		"10.1.0.1":               "device mlx5_0, 10.1.0.1, only RoCE v1, which no router forwards",
		"::ffff:10.2.0.1":        "device mlx5_0, 10.2.0.1, RoCE v2",
		"fe80::1%eth0":           "device mlx5_0, fe80::1, RoCE v2",
		"fe80:0:0:0::1%eth0.100": "device mlx5_0, fe80::1, only RoCE v1, which no router forwards",
		"mlx4_0":                 "device mlx4_0, 10.3.0.1",
		"mlx4_0:1":               "device mlx4_0, 10.3.0.1",
		"mlx4_0:2":               "device mlx4_0 port 2, fd00::1",
		"10.4.0.1":               "device mlx4_0 port 2, 10.4.0.1",
		"FD00::0001":             "device mlx4_0 port 2, fd00::1",
		"siw0":                   "device siw0, 10.5.0.1",
		"fe80::5%eth1":           "device siw0, fe80::5",
		"fe80::5":                "device siw0, fe80::5",
	} {
		p, err := chooseOfCluster(name)
		require.NoError(t, err, name)
		require.Equal(t, want, p.String(), name)
	}
	for _, name := range []string{"mlx5_1", "mlx4_0:3", "mlx4_0:0", "mlx4_0:x", "mlx4_0:", "10.9.9.9", "10.1.0.0", "fe80::1%eth1", "eth2", "", "fe80::2%eth0"} {
		_, err := chooseOfCluster(name)
		require.Error(t, err, name)
		require.ErrorContains(t, err, "kernel: device ")
	}
	_, err := chooseOfCluster("mlx5_1")
	require.ErrorIs(t, err, uverbs.ErrNoDevice)
	require.ErrorContains(t, err, "mlx5_1: ")
	require.ErrorContains(t, err, "there is mlx5_0, mlx4_0, siw0, bare0, no other")
	for _, name := range []string{"bare0", "eth9"} {
		_, err = chooseOfCluster(name)
		require.ErrorIs(t, err, ErrNoAddress)
		require.ErrorContains(t, err, "device bare0")
	}
	_, err = choose(nil, nil, nil, "mlx5_0")
	require.ErrorIs(t, err, ErrNoDevices)
}

// TestPlaceKeepsOthers checks that a place keeps its other addresses, in their order, when prefer makes one
// address the first.
func TestPlaceKeepsOthers(t *testing.T) {
	p, err := chooseOfCluster("10.1.0.1")
	require.NoError(t, err)
	var got []netip.Addr
	for _, prefix := range p.prefixes {
		got = append(got, prefix.Addr())
	}
	require.True(t, slices.Equal(got, addressesOf("10.1.0.1", "10.1.0.2", "fe80::1")), "%v", got)
}
