package probe_test

import (
	"errors"
	"io/fs"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/probe"
)

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }

// kernel returns the files of a host on which one device can be used.
func kernel(device, nodeType, link, state, netdev string) fstest.MapFS {
	at := "sys/class/infiniband/" + device
	return fstest.MapFS{
		at + "/node_type":                          text(nodeType),
		at + "/ports/1/link_layer":                 text(link),
		at + "/ports/1/state":                      text(state),
		at + "/ports/1/gid_attrs/ndevs/0":          text(netdev),
		"dev/infiniband/uverbs0":                   text(""),
		"dev/infiniband/rdma_cm":                   text(""),
		"usr/lib/x86_64-linux-gnu/libibverbs.so.1": text(""),
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
		"unreadable": {kernel("odd0", "", "", "", ""), "odd0 InfiniBand, port state unknown"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := host(eth0)
			h.Files = c.files
			devices := h.Devices()
			require.Len(t, devices, 1)
			require.Equal(t, c.want, devices[0].String())
			require.Equal(t, name == "InfiniBand" || name == "RoCE", devices[0].Active)
		})
	}
	require.Empty(t, host().Devices())
}

// TestKernel removes one requirement at a time. The test checks that the error of Kernel names the missing
// requirement and the remedy.
func TestKernel(t *testing.T) {
	whole := func() fstest.MapFS { return kernel("irdma0", "4: RNIC", "Ethernet", "4: ACTIVE", "eth0") }
	without := func(names ...string) fstest.MapFS {
		files := whole()
		for _, name := range names {
			delete(files, name)
		}
		return files
	}
	empty := fstest.MapFS{"sys/class/infiniband": &fstest.MapFile{Mode: fs.ModeDir}}
	inactive := kernel("siw0", "4: RNIC", "Ethernet", "1: DOWN", "eth0")
	// beside returns the files of a host with a second device and without the library.
	beside := func(files fstest.MapFS, second string) fstest.MapFS {
		all := kernel(second, "4: RNIC", "Ethernet", "4: ACTIVE", "eth1")
		maps.Copy(all, files)
		delete(all, "usr/lib/x86_64-linux-gnu/libibverbs.so.1")
		return all
	}
	cases := []struct {
		files      fstest.MapFS
		says, hint string
	}{
		{fstest.MapFS{}, "/sys/class/infiniband is not there", "modprobe"},
		{empty, "/sys/class/infiniband is empty", "rdma link add"},
		{without("dev/infiniband/uverbs0"), "no /dev/infiniband/uverbs*, though there is irdma0 iWARP on eth0", "container"},
		{without("dev/infiniband/uverbs0", "dev/infiniband/rdma_cm"), "no /dev/infiniband/uverbs*", "modprobe ib_uverbs"},
		{without("dev/infiniband/rdma_cm"), "no /dev/infiniband/rdma_cm", "modprobe rdma_ucm"},
		{without("usr/lib/x86_64-linux-gnu/libibverbs.so.1"), "no libibverbs.so.1, which irdma0 iWARP on eth0, port active needs", "install rdma-core"},
		{beside(inactive, "irdma0"), "no libibverbs.so.1, which irdma0", "install rdma-core"},
		{inactive, "no port is active", "siw0 iWARP on eth0, port down"},
	}
	h := host(eth0)
	for _, c := range cases {
		h.Files = c.files
		err := h.Kernel()
		require.ErrorIs(t, err, transport.ErrNotSupported)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, c.hint)
		require.Contains(t, h.Explain(""), c.says)
	}
	h.Files = whole()
	require.NoError(t, h.Kernel())

	elsewhere := without("usr/lib/x86_64-linux-gnu/libibverbs.so.1")
	maps.Copy(elsewhere, fstest.MapFS{"lib64/libibverbs.so.1": text("")})
	h.Files = elsewhere
	require.NoError(t, h.Kernel())

	// A device that gorun drives in Go needs no library, even if another device needs the library.
	h.Files = beside(whole(), "siw0")
	require.NoError(t, h.Kernel())
}

func TestKernelDevicesAreNotAccessible(t *testing.T) {
	denied := errors.New("permission denied")
	h := host(eth0)
	h.Files = kernel("siw0", "4: RNIC", "Ethernet", "4: ACTIVE", "eth0")
	for _, name := range []string{"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"} {
		h.Access = func(asked string) error {
			if asked == name {
				return denied
			}
			return nil
		}
		err := h.Kernel()
		require.ErrorIs(t, err, denied)
		require.ErrorIs(t, err, transport.ErrNotSupported)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "group")
	}
	// A device that the process may open can be used, even if it may not open another one.
	h.Files.(fstest.MapFS)["dev/infiniband/uverbs1"] = text("")
	for _, name := range []string{"/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1"} {
		h.Access = func(asked string) error {
			if asked == name {
				return denied
			}
			return nil
		}
		require.NoError(t, h.Kernel())
	}
}

func TestExplain(t *testing.T) {
	h := host(lo, eth0)
	require.Equal(t, `  address: 192.0.2.2 on eth0
  kernel: /sys/class/infiniband is not there: the kernel has no RDMA support loaded (modprobe the adapter's driver, or siw or rdma_rxe for one in software): not supported
  interface: lo 127.0.0.1/8 ::1/128 (loopback)
  interface: eth0 fe80::1/64 192.0.2.2/24 fd00::2/64
`, h.Explain(""))
	h.Files = kernel("rxe0", "1: CA", "Ethernet", "4: ACTIVE", "eth0")
	require.Equal(t, `  address: none: -net 10.0.0.0/8: no interface has an address in 10.0.0.0/8; there are: lo 127.0.0.1/8 ::1/128 (loopback); eth0 fe80::1/64 192.0.2.2/24 fd00::2/64
  device: rxe0 RoCE on eth0, port active
  interface: lo 127.0.0.1/8 ::1/128 (loopback)
  interface: eth0 fe80::1/64 192.0.2.2/24 fd00::2/64
`, h.Explain("10.0.0.0/8"))
}

// TestThisHostExplains checks that the probe of the real host finds its interfaces and decides whether the
// kernel's RDMA can be used.
func TestThisHostExplains(t *testing.T) {
	h := probe.System()
	all, err := h.Interfaces()
	require.NoError(t, err)
	for _, i := range all {
		require.NotEmpty(t, i.Name)
		require.Contains(t, h.Explain(""), "  interface: "+i.String()+"\n")
	}
	if err := h.Kernel(); err != nil {
		require.ErrorIs(t, err, transport.ErrNotSupported)
	}
}
