package probe_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport/rdma/probe"
)

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }

// kernel returns the files of a host on which one device can be used.
func kernel(device, nodeType, link, state, netdev string) fstest.MapFS {
	at := "sys/class/infiniband/" + device
	return fstest.MapFS{
		at + "/node_type":                 text(nodeType),
		at + "/ports/1/link_layer":        text(link),
		at + "/ports/1/state":             text(state),
		at + "/ports/1/gid_attrs/ndevs/0": text(netdev),
	}
}

func TestDevices(t *testing.T) {
	cases := map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"InfiniBand": {kernel("mlx5_0", "1: CA", "InfiniBand", "4: ACTIVE", "ib0"), "mlx5_0 InfiniBand on ib0, port active"},
		"RoCE":       {kernel("rxe0", "1: CA", "Ethernet", "4: ACTIVE", "eth0"), "rxe0 RoCE on eth0, port active"},
		"iWARP":      {kernel("siw0", "4: RNIC", "Ethernet", "1: DOWN", "eth0"), "siw0 iWARP on eth0, port down"},
		"unreadable": {kernel("odd0", "", "", "", ""), "odd0 other transport, port state unknown"},
		"usnic":      {kernel("usnic_0", "6: usNIC UDP", "Ethernet", "4: ACTIVE", "eth0"), "usnic_0 other transport on eth0, port active"},
		"efa":        {kernel("efa_0", "8: unspecified", "Unspecified", "4: ACTIVE", ""), "efa_0 other transport, port active"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := host(eth0)
			h.Files = c.files
			devices := h.Devices()
			require.Len(t, devices, 1)
			require.Equal(t, c.want, devices[0].String())
			require.Equal(t, name != "iWARP" && name != "unreadable", devices[0].Active)
		})
	}
	require.Empty(t, host().Devices())
}

// TestInterfacesOfThisHost checks that the probe of the real host finds its interfaces.
func TestInterfacesOfThisHost(t *testing.T) {
	all, err := probe.System().Interfaces()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, i := range all {
		require.NotEmpty(t, i.Name)
	}
}
