package probe

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/internal/ranges"
)

// Adapter is an RDMA device that a rank may use.
type Adapter struct {
	Device
	// Fabric names the network of the adapter: "roce", "iwarp", "ib-" and the subnet prefix, or "ib"
	// if the subnet prefix is unknown. For a device of another kind it is "other transport". Adapters of
	// the same fabric can probably be connected with each other.
	Fabric string
	// Address is the first address of the adapter's interfaces that are up, without link-local
	// addresses, which have no meaning on other hosts. It is invalid if there is no such address.
	Address netip.Addr
	// Near is the percentage of the rank's processors that are local to the adapter (local_cpulist
	// in sysfs). It is 100 if the host does not provide this list.
	Near int
}

// CPUs is a set of processors. A processor is named by its number.
type CPUs interface {
	IsSet(cpu int) bool
	Count() int
}

// Adapters lists the RDMA devices that can probably be used, without opening them. A device can
// probably be used if rdma_cm makes its connections, and if it has an active port, and an interface
// that is up and has an address that is not link-local. The devices nearest to the processors that
// the rank may use come first. The argument named may is the set of these processors. If several
// devices are nearest, the argument turn, which is the number of the rank on its node, decides which of
// them comes first. So the ranks of a node use these devices in turn. The second list has a line for
// each of the other devices, with the reason why it cannot be used. If there are no devices, the second
// list says so. On a host without RDMA devices, Adapters reads only one directory.
func (h *Host) Adapters(may CPUs, turn int) (usable []Adapter, others []string) {
	devices := h.Devices()
	if len(devices) == 0 {
		return nil, []string{"an adapter: the kernel has no RDMA device"}
	}
	interfaces, err := h.Interfaces()
	if err != nil {
		return nil, []string{fmt.Sprintf("an adapter: %v", err)}
	}
	for _, d := range devices {
		a := Adapter{Device: d, Fabric: h.fabric(&d), Address: reachable(interfaces, d.Interfaces), Near: h.near(d.Name, may)}
		switch {
		case d.Kind == kindOther:
			others = append(others, d.Spelling()+": rdma_cm makes no connections for this device")
		case !d.Active:
			others = append(others, fmt.Sprintf("%s: its port is %s", d.Spelling(), strings.ToLower(d.State)))
		case len(d.Interfaces) == 0:
			others = append(others, d.Spelling()+": no network interface leads to it")
		case !a.Address.IsValid():
			others = append(others, fmt.Sprintf("%s: none of its network interfaces (%s) is up with an address that other hosts can reach", d.Spelling(), strings.Join(d.Interfaces, ", ")))
		default:
			usable = append(usable, a)
		}
	}
	slices.SortStableFunc(usable, func(a, b Adapter) int { return cmp.Compare(b.Near, a.Near) })
	best := 0
	for best < len(usable) && usable[best].Near == usable[0].Near {
		best++
	}
	if best > 0 {
		n := turn % best
		usable = slices.Concat(usable[n:best], usable[:n], usable[best:])
	}
	return usable, others
}

// Adapter returns the device that a name denotes, even if the device cannot be used. The field Near
// of the result is not set. The argument name is the name of the device, with or without the number
// of a port. It may also be the name of a network interface that leads to the device, or an address
// of such an interface in any spelling. Adapter returns false if no device matches.
func (h *Host) Adapter(name string) (Adapter, bool) {
	interfaces, err := h.Interfaces()
	if err != nil {
		interfaces = nil
	}
	address, _ := netip.ParseAddr(name) // if name is not an address, the result is invalid and matches nothing
	zone, address := address.Zone(), address.WithZone("").Unmap()
	for _, d := range h.Devices() {
		owns := slices.ContainsFunc(interfaces, func(i Interface) bool {
			return slices.Contains(d.Interfaces, i.Name) && (zone == "" || zone == i.Name) &&
				slices.ContainsFunc(i.Addresses, func(p netip.Prefix) bool { return p.Addr() == address })
		})
		if d.Name == name || d.Name+":"+strconv.Itoa(d.Port) == name || slices.Contains(d.Interfaces, name) || owns {
			return Adapter{Device: d, Fabric: h.fabric(&d), Address: reachable(interfaces, d.Interfaces)}, true
		}
	}
	return Adapter{}, false
}

// reachable returns the first address of the named interfaces that is not link-local. It ignores
// interfaces that are down.
func reachable(interfaces []Interface, names []string) netip.Addr {
	for _, name := range names {
		for i := range interfaces {
			if interfaces[i].Name != name || !interfaces[i].Up {
				continue
			}
			for _, p := range interfaces[i].Addresses {
				if a := p.Addr(); !a.IsLinkLocalUnicast() && !a.IsUnspecified() {
					return a
				}
			}
		}
	}
	return netip.Addr{}
}

// fabric names the fabric of a device.
func (h *Host) fabric(d *Device) string {
	if d.Kind != "InfiniBand" {
		return strings.ToLower(d.Kind)
	}
	// The subnet prefix is the first half of every GID. An example of a GID is
	// fe80:0000:0000:0000:0002:c903:0000:1491.
	const prefix = len("fe80:0000:0000:0000")
	gid := line(h.Files, path.Join(portOf(d.Name, d.Port), "gids/0"))
	if len(gid) < prefix {
		return "ib"
	}
	return "ib-" + strings.ReplaceAll(gid[:prefix], ":", "")
}

// near returns the percentage of the processors of a set that are local to a device. It returns 100
// if the percentage is unknown.
func (h *Host) near(device string, may CPUs) int {
	text, err := fs.ReadFile(h.Files, path.Join(deviceClass, device, "device/local_cpulist"))
	if err != nil || may == nil || may.Count() == 0 {
		return 100 // a device in software has no list
	}
	local, err := ranges.Split(strings.TrimSpace(string(text)), ranges.Limits{Below: cpusMax, Count: cpusMax})
	if err != nil {
		return 100
	}
	count := 0
	for _, r := range local {
		for cpu := r.Low; cpu <= r.High; cpu++ {
			if may.IsSet(cpu) {
				count++
			}
		}
	}
	return 100 * count / may.Count()
}

// cpusMax bounds the numbers of processors in a list. So it also bounds the loop over them.
const cpusMax = 1 << 16
