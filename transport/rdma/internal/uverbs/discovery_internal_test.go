package uverbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func asError(err error, target **Error) bool { return errors.As(err, target) }

// machine returns the sysfs of a simulated host with two devices.
func machine() fstest.MapFS {
	files := fstest.MapFS{}
	add := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text)} }
	add("sys/class/infiniband_verbs/abi_version", "6\n")
	for i, name := range []string{"siw0", "mlx5_0"} {
		at := "sys/class/infiniband_verbs/uverbs" + string(rune('0'+i))
		add(at+"/ibdev", name+"\n")
		add(at+"/abi_version", "1\n")
		add("sys/class/infiniband/"+name+"/node_guid", "0102:0304:0506:0708\n")
		add("sys/class/infiniband/"+name+"/node_type", []string{"4: RNIC\n", "1: CA\n"}[i])
	}
	add("sys/class/infiniband/mlx5_0/ports/1/gids/0", "fe80:0000:0000:0000:0202:0304:0506:0708\n")
	add("sys/class/infiniband/mlx5_0/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a09:0001\n")
	add("sys/class/infiniband/mlx5_0/ports/1/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n")
	add("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1", "RoCE v2\n")
	add("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1", "eth0\n")
	return files
}

func list4(address string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(address)} }

// TestSites checks that each interface, VLAN and bond of a RoCE port is a Site of its own. Site.Addresses
// must contain those addresses that are GIDs, in the order of the GID indexes. Site.Version2 must contain
// those of them that have a GID of RoCE v2.
func TestSites(t *testing.T) {
	files := fstest.MapFS{}
	add := func(port, index int, gid, kind, on string) {
		at := fmt.Sprintf("sys/class/infiniband/mlx5_0/ports/%d/", port)
		for name, text := range map[string]string{"gids/": gid, "gid_attrs/types/": kind, "gid_attrs/ndevs/": on} {
			files[at+name+strconv.Itoa(index)] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
	}
	const v4 = "0000:0000:0000:0000:0000:ffff:0a0"
	add(1, 0, "fe80:0000:0000:0000:0000:0000:0000:0001", "IB/RoCE v1", "eth0")
	add(1, 1, "fe80:0000:0000:0000:0000:0000:0000:0001", "RoCE v2", "eth0")
	add(1, 10, v4+"2:0001", "RoCE v2", "bond0")
	add(1, 2, v4+"1:0001", "IB/RoCE v1", "eth0.100")
	add(1, 3, v4+"1:0002", "RoCE v2", "eth0.100")
	add(2, 0, v4+"3:0001", "RoCE v2", "eth1")
	one := netip.MustParseAddr("fe80::1")
	require.Equal(t, []Site{
		{Port: 1, Interface: "eth0", Addresses: []netip.Addr{one}, Version2: []netip.Addr{one}},
		{Port: 1, Interface: "eth0.100", Addresses: append(list4("10.1.0.1"), list4("10.1.0.2")...), Version2: list4("10.1.0.2")},
		{Port: 1, Interface: "bond0", Addresses: list4("10.2.0.1"), Version2: list4("10.2.0.1")},
		{Port: 2, Interface: "eth1", Addresses: list4("10.3.0.1"), Version2: list4("10.3.0.1")},
	}, sites(files, &Device{Name: "mlx5_0", Interface: "eth0"}))
	require.Empty(t, sites(fstest.MapFS{}, &Device{Name: "mlx5_0"}))
}

// TestSitesOfIWARP checks that a GID of iWARP does not restrict the addresses of its interface. Such a GID contains
// a MAC address. Since Linux 6.6 the GID has an interface, and its type is "IB/RoCE v1", as on InfiniBand.
func TestSitesOfIWARP(t *testing.T) {
	const at = "sys/class/infiniband/siw0/ports/1/"
	files := fstest.MapFS{
		at + "gids/0":            {Data: []byte("5254:0000:0001:0000:0000:0000:0000:0000\n")},
		at + "gid_attrs/types/0": {Data: []byte("IB/RoCE v1\n")},
		at + "gid_attrs/ndevs/0": {Data: []byte("eth1\n")},
	}
	want := []Site{{Port: 1, Interface: "eth1"}}
	require.Equal(t, want, sites(files, &Device{Name: "siw0", Transport: TransportIWARP, Interface: "eth1"}))
	require.Equal(t, want, sites(files, &Device{Name: "siw0", Transport: TransportIWARP}))
}

func TestDevicesOfSysfs(t *testing.T) {
	known := func() (map[string]particulars, error) {
		return map[string]particulars{"siw0": {driver: DriverSIW, on: "eth1"}}, nil
	}
	all, err := devices(machine(), known)
	require.NoError(t, err)
	const guid = 0x0102030405060708
	require.Equal(t, []Device{
		{Name: "siw0", File: "dev/infiniband/uverbs0", ABI: 1, Driver: DriverSIW, GUID: guid, Transport: TransportIWARP, Interface: "eth1"},
		{Name: "mlx5_0", File: "dev/infiniband/uverbs1", ABI: 1, GUID: guid},
	}, all)

	over := machine()
	for name, files := range map[string]map[string]string{
		"ib1": {"type": "32", "dev_port": "1", "device/infiniband/mlx5_0": ""}, // belongs to another port
		"ib0": {"type": "32", "dev_port": "0", "device/infiniband/mlx5_0": ""},
		"ib2": {"type": "32", "dev_port": "0", "device/infiniband/mlx5_1": ""},
		"e0":  {"type": "1", "dev_port": "0", "device/infiniband/mlx5_0": ""}, // an Ethernet interface
	} {
		for file, text := range files {
			over["sys/class/net/"+name+"/"+file] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
	}
	over["sys/class/infiniband/siw0/node_type"] = &fstest.MapFile{Data: []byte("8: unspecified\n")}
	all, err = devices(over, known)
	require.NoError(t, err)
	require.Equal(t, "ib0", all[1].Interface, "IP over InfiniBand")
	require.Equal(t, "eth1", all[0].Interface)
	require.Equal(t, TransportOther, all[0].Transport, "efa and usnic have no connections of rdma_cm")

	require.Equal(t, []Site{{Port: 1, Interface: "ib0"}, {Port: 1, Interface: "eth0", Addresses: list4("10.9.0.1"), Version2: list4("10.9.0.1")}}, sites(over, &all[1]))
	over["sys/class/infiniband/mlx5_0/ports/2/gids/0"] = &fstest.MapFile{Data: []byte("fe80:0000:0000:0000:0202:0304:0506:0708\n")}
	require.Equal(t, Site{Port: 2, Interface: "ib1"}, sites(over, &all[1])[2])
	require.Equal(t, []Site{{Port: 1, Interface: "eth1"}}, sites(over, &all[0]))

	list, err := gids(machine(), "mlx5_0", 1)
	require.NoError(t, err)
	require.Len(t, list, 2, "free places are left out")
	require.Equal(t, "RoCE v2", list[1].Kind)
	require.Equal(t, "eth0", list[1].Interface)
	require.Equal(t, "10.9.0.1", list[1].Address.Unmap().String())
	require.Equal(t, 1, list[1].Index)

	none, err := devices(fstest.MapFS{}, known)
	require.NoError(t, err)
	require.Empty(t, none)

	removed := machine()
	delete(removed, "sys/class/infiniband/siw0/node_guid")
	all, err = devices(removed, known)
	require.NoError(t, err)
	require.Len(t, all, 1)

	for _, name := range []string{"sys/class/infiniband/siw0/node_guid", "sys/class/infiniband_verbs/uverbs0/abi_version"} {
		broken := machine()
		broken[name] = &fstest.MapFile{Data: []byte("none\n")}
		_, err = devices(broken, known)
		require.ErrorContains(t, err, "siw0: ")
	}
	require.Equal(t, "mlx5 siw driver 99", fmt.Sprint(Driver(1), DriverSIW, Driver(99)))
	failed := errors.New("no netlink")
	_, err = devices(machine(), func() (map[string]particulars, error) { return nil, failed })
	require.ErrorIs(t, err, failed)
}

// message returns a netlink message.
func message(kind uint16, body []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, make([]byte, 10)...)
	b = append(b, body...)
	return append(b, make([]byte, padding(len(body)))...)
}

func deviceMessage(name string, index uint32) []byte {
	body := appendAttribute(nil, nldevIndex, binary.NativeEndian.AppendUint32(nil, index))
	return message(nldevClient<<10|nldevGet, appendAttribute(body, nldevName, append([]byte(name), 0)))
}

// netlinkOf simulates the netlink interface of a kernel with three devices: a device with a driver, a device
// without verbs, and a device that does not report its driver. If the argument cut is negative, the answer
// that lists the devices is complete. Otherwise this answer ends after its first cut bytes.
func netlinkOf(cut int) exchange {
	dump := append(deviceMessage("siw0", 7), deviceMessage("hfi0", 8)...)
	dump = append(append(dump, deviceMessage("old0", 9)...), message(unix.NLMSG_DONE, words(0))...)
	if cut >= 0 {
		dump = dump[:cut:cut]
	}
	return func(request []byte, take func([]byte) (bool, error)) error {
		if binary.NativeEndian.Uint16(request[4:]) == nldevClient<<10|nldevGet {
			done, err := take(dump)
			if err == nil && !done {
				err = errMessage // a real kernel would send another datagram
			}
			return err
		}
		attributes, err := parseAttributes(request[unix.NLMSG_HDRLEN:])
		if err != nil {
			return err
		}
		answer := message(unix.NLMSG_ERROR, words(^uint32(unix.ENOENT)+1))
		isPort := binary.NativeEndian.Uint16(request[4:]) == nldevClient<<10|nldevGetPort
		switch index := binary.NativeEndian.Uint32(attributes[nldevIndex]); {
		case index == 7 && isPort:
			answer = message(nldevClient<<10|nldevGetPort, appendAttribute(nil, nldevInterface, []byte("eth1\x00")))
		case index == 7:
			answer = message(nldevClient<<10|nldevGetCharDevice, appendAttribute(nil, nldevDriver, words(uint32(DriverSIW))))
		case index == 9:
			answer = message(nldevClient<<10|nldevGetCharDevice, appendAttribute(nil, nldevIndex, words(9)))
		}
		_, err = take(answer)
		return err
	}
}

func TestParticulars(t *testing.T) {
	all, err := ask(netlinkOf(-1))
	require.NoError(t, err)
	require.Equal(t, map[string]particulars{"siw0": {driver: DriverSIW, on: "eth1"}, "hfi0": {}, "old0": {}}, all)
	whole := 0
	for cut := 0; ; cut++ {
		_, err := ask(netlinkOf(cut))
		if err == nil {
			whole = cut
			break
		}
		require.ErrorIs(t, err, errMessage)
	}
	require.Greater(t, whole, 3*unix.NLMSG_HDRLEN)
	_, err = Devices() // this host may have devices
	require.NoError(t, err)
}

func FuzzMessages(f *testing.F) {
	f.Add(append(deviceMessage("siw0", 7), message(unix.NLMSG_DONE, words(0))...))
	f.Add(message(unix.NLMSG_ERROR, words(1<<32-2)))
	f.Add(message(unix.NLMSG_ERROR, nil))
	f.Add([]byte{17, 0, 0, 0, 1, 20})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		_, err := messages(b, func(attributes map[uint16][]byte) error {
			n++
			for _, v := range attributes {
				require.Less(t, len(v), len(b))
			}
			return nil
		})
		if err == nil {
			require.LessOrEqual(t, n*unix.NLMSG_HDRLEN, len(b))
		}
	})
}
