package probe_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/probe"
)

// cpus returns a set of processors.
func cpus(list ...int) *unix.CPUSet {
	set := new(unix.CPUSet)
	for _, c := range list {
		set.Set(c)
	}
	return set
}

// nic returns a network interface with these addresses.
func nic(name string, addresses ...string) probe.Interface {
	i := probe.Interface{Name: name, Up: true}
	for _, a := range addresses {
		i.Addresses = append(i.Addresses, netip.MustParsePrefix(a))
	}
	return i
}

// together returns a host with all these devices.
func together(interfaces []probe.Interface, devices ...fstest.MapFS) *probe.Host {
	h := host(interfaces...)
	all := fstest.MapFS{}
	for _, d := range devices {
		maps.Copy(all, d)
	}
	h.Files = all
	return h
}

// local adds the list of the processors that are near to a device.
func local(device fstest.MapFS, name, list string) fstest.MapFS {
	device["sys/class/infiniband/"+name+"/device/local_cpulist"] = text(list)
	return device
}

func roce(name, on string) fstest.MapFS { return kernel(name, "1: CA", "Ethernet", "4: ACTIVE", on) }

func names(list []probe.Adapter) string {
	all := make([]string, len(list))
	for i, a := range list {
		all[i] = a.Name
	}
	return strings.Join(all, " ")
}

// TestNearestAdapter checks which adapter a rank gets first. A rank that is bound to processors gets the adapter
// nearest to them. Ranks that are equally near to several adapters are spread evenly over them.
func TestNearestAdapter(t *testing.T) {
	interfaces := []probe.Interface{nic("eth0", "10.0.0.1/24"), nic("eth1", "10.0.1.1/24"), nic("eth2", "10.0.2.1/24")}
	h := together(interfaces, local(roce("mlx5_0", "eth0"), "mlx5_0", "0-3"), local(roce("mlx5_1", "eth1"), "mlx5_1", "4-5,6-7"), roce("rxe0", "eth2"))
	two := together(interfaces, local(roce("mlx5_0", "eth0"), "mlx5_0", "0-3"), local(roce("mlx5_1", "eth1"), "mlx5_1", "4-5,6-7"))
	for _, c := range []struct {
		name string
		host *probe.Host
		may  *unix.CPUSet
		want []string // the adapter of each rank, by the number of the rank on its node
	}{
		{"on the first", two, cpus(1, 2), []string{"mlx5_0 mlx5_1", "mlx5_0 mlx5_1"}},
		{"on the second", two, cpus(6), []string{"mlx5_1 mlx5_0", "mlx5_1 mlx5_0"}},
		{"mostly on the second", two, cpus(3, 4, 5), []string{"mlx5_1 mlx5_0", "mlx5_1 mlx5_0"}},
		{"on both", two, cpus(0, 1, 2, 3, 4, 5, 6, 7), []string{"mlx5_0 mlx5_1", "mlx5_1 mlx5_0", "mlx5_0 mlx5_1"}},
		{"far from both", two, cpus(9), []string{"mlx5_0 mlx5_1", "mlx5_1 mlx5_0"}},
		{"one in software", h, cpus(5), []string{"mlx5_1 rxe0 mlx5_0", "rxe0 mlx5_1 mlx5_0", "mlx5_1 rxe0 mlx5_0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for turn, want := range c.want {
				usable, others := c.host.Adapters(c.may, turn)
				require.Equal(t, want, names(usable))
				require.Empty(t, others)
			}
		})
	}
	for _, odd := range []string{"", "x", "1-", "-4"} {
		usable, _ := together(interfaces, local(roce("mlx5_0", "eth0"), "mlx5_0", odd)).Adapters(cpus(1), 0)
		require.Len(t, usable, 1)
	}
}

// TestPorts checks that each port of a device counts as an adapter of its own. It also checks that the
// interfaces of a port include those of its VLANs and bonds. The first of these interfaces with an address that
// other hosts can reach must be used.
func TestPorts(t *testing.T) {
	device := roce("mlx4_0", "eth0")
	at := "sys/class/infiniband/mlx4_0/ports/"
	device[at+"1/state"] = text("1: DOWN")
	device[at+"2/state"], device[at+"2/link_layer"] = text("4: ACTIVE"), text("Ethernet")
	device[at+"2/gid_attrs/ndevs/0"], device[at+"2/gid_attrs/ndevs/1"] = text("eth1"), text("eth1")
	device[at+"2/gid_attrs/ndevs/10"], device[at+"2/gid_attrs/ndevs/9"] = text("eth1.7"), text("bond0")
	h := together([]probe.Interface{nic("eth0", "10.0.0.1/24"), nic("eth1", "fe80::1/64"), nic("eth1.7", "10.7.0.1/24"), nic("bond0")}, device)
	usable, others := h.Adapters(nil, 0)
	require.Equal(t, []string{"mlx4_0: its port is down"}, others)
	require.Len(t, usable, 1)
	require.Equal(t, "mlx4_0:2", usable[0].Spelling())
	require.Equal(t, []string{"eth1", "bond0", "eth1.7"}, usable[0].Interfaces)
	require.Equal(t, "10.7.0.1", usable[0].Address.String())
	for name, port := range map[string]int{"mlx4_0": 1, "mlx4_0:1": 1, "mlx4_0:2": 2, "bond0": 2, "10.7.0.1": 2, "eth0": 1} {
		a, ok := h.Adapter(name)
		require.True(t, ok)
		require.Equal(t, port, a.Port, name)
	}
}

// TestUsableAdapters checks that Adapters gives the reason for each device that cannot be used. It also checks
// the fabric of each adapter, because two adapters can be connected only in the same fabric.
func TestUsableAdapters(t *testing.T) {
	ib := kernel("mlx5_0", "1: CA", "InfiniBand", "4: ACTIVE", "")
	ib["sys/class/infiniband/mlx5_0/ports/1/gids/0"] = text("fec0:0000:0000:0001:0002:c903:0000:1491")
	ib["sys/class/infiniband/mlx5_0/device/net/ib0/mtu"] = text("2044")
	h := together(
		[]probe.Interface{nic("eth0", "fe80::1/64", "10.0.0.1/24"), nic("eth1", "fe80::2/64"), nic("eth2", "10.2.0.1/16"), nic("ib0", "fd00::1/64")},
		ib, roce("rxe0", "eth0"), roce("rxe1", "eth1"), roce("rxe2", ""), kernel("usnic_0", "6: usNIC UDP", "Ethernet", "4: ACTIVE", "eth0"),
		kernel("siw0", "4: RNIC", "Ethernet", "1: DOWN", "eth2"), kernel("siw2", "4: RNIC", "Ethernet", "4: ACTIVE", "eth2"),
	)
	usable, others := h.Adapters(nil, 0)
	require.Equal(t, "mlx5_0 rxe0 siw2", names(usable))
	fabrics := []string{}
	for _, a := range usable {
		fabrics = append(fabrics, a.Fabric)
	}
	require.Equal(t, []string{"ib-fec0000000000001", "roce", "iwarp"}, fabrics)
	require.Equal(t, "10.0.0.1", usable[1].Address.String())
	require.Equal(t, []string{
		"rxe1: none of its network interfaces (eth1) is up with an address that other hosts can reach", "rxe2: no network interface leads to it",
		"siw0: its port is down", "usnic_0: rdma_cm makes no connections for this device",
	}, slices.Sorted(slices.Values(others)))

	for _, name := range []string{"rxe0", "rxe0:1", "eth0", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "fe80:0::1%eth0"} {
		a, ok := h.Adapter(name)
		require.True(t, ok)
		require.Equal(t, "rxe0", a.Name)
		require.Equal(t, "roce", a.Fabric)
	}
	for _, name := range []string{"mlx4_0", "rxe0:2", "fe80::1%eth1", "10.0.0.2", ""} {
		_, ok := h.Adapter(name)
		require.False(t, ok, name)
	}

	usable, others = host(eth0).Adapters(cpus(1), 3)
	require.Empty(t, usable)
	require.Equal(t, []string{"an adapter: the kernel has no RDMA device"}, others)
}
