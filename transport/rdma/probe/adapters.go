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
	// Fabric names what connects it with other adapters: "roce", "iwarp", or "ib-" and the
	// subnet prefix. Adapters of one fabric can be connected, as far as can be seen.
	Fabric string
	// Address is the first one of its interfaces that other hosts can reach.
	Address netip.Addr
	// Near is the share of the rank's processors that are the adapter's nearest ones, in
	// percent; 100 if the host does not say.
	Near int
}

// CPUs are processors by number.
type CPUs interface {
	IsSet(cpu int) bool
	Count() int
}

// Adapters lists the RDMA devices that can be used, as far as can be seen without opening them:
// those whose port is active and whose interface has an address that rdma_cm can bind. Those
// nearest to the processors that the rank may use come first; ranks of a node to which several
// are equally near get them in turn, by their number on it. The second list says why each of
// the others cannot be used, or that there is no device at all. It reads nothing but one directory
// on hosts without any.
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
		case !d.Active:
			others = append(others, fmt.Sprintf("%s: its port is %s", d.Spelling(), strings.ToLower(d.State)))
		case !a.Address.IsValid():
			others = append(others, fmt.Sprintf("%s: its interface %q has no address that other hosts reach", d.Spelling(), strings.Join(d.Interfaces, ", ")))
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

// Adapter returns the device of a name, with or without the number of a port, of an interface, or
// of an address of that in any spelling, whether it can be used or not; false if there is none.
func (h *Host) Adapter(name string) (Adapter, bool) {
	interfaces, err := h.Interfaces()
	if err != nil {
		interfaces = nil
	}
	address, _ := netip.ParseAddr(name) // not valid: no address is
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

// reachable returns the first address of interfaces that means something on other hosts.
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
	// The subnet prefix is the first half of every GID, fe80:0000:0000:0000:0002:c903:0000:1491.
	const prefix = len("fe80:0000:0000:0000")
	gid := line(h.Files, path.Join(portOf(d.Name, d.Port), "gids/0"))
	if len(gid) < prefix {
		return "ib"
	}
	return "ib-" + strings.ReplaceAll(gid[:prefix], ":", "")
}

// near returns the share of some processors that are local to a device, in percent.
func (h *Host) near(device string, may CPUs) int {
	text, err := fs.ReadFile(h.Files, path.Join(deviceClass, device, "device/local_cpulist"))
	if err != nil || may == nil || may.Count() == 0 {
		return 100 // a device in software has none
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

// cpusMax bounds what a list of processors can make a loop do.
const cpusMax = 1 << 16
