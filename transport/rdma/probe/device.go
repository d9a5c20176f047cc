package probe

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gorun-hpc/gorun/transport"
)

// Device is an RDMA device that the kernel drives.
type Device struct {
	// Name is the kernel's: mlx5_0, rxe0, siw0.
	Name string
	// Kind is "InfiniBand", "RoCE" or "iWARP".
	Kind string
	// Interface is the network interface of its first port, or "".
	Interface string
	// Active says that its first port has a link.
	Active bool
	// State is the state of that port as the kernel says it.
	State string
}

// String is the device in one line.
func (d *Device) String() string {
	s := d.Name + " " + d.Kind
	if d.Interface != "" {
		s += " on " + d.Interface
	}
	return s + ", port " + strings.ToLower(d.State)
}

const (
	deviceClass = "sys/class/infiniband"
	deviceFiles = "dev/infiniband"
)

// Devices lists the RDMA devices of the kernel. There may be some that cannot be
// used: see Kernel.
func (h *Host) Devices() []Device {
	entries, err := fs.ReadDir(h.Files, deviceClass)
	if err != nil {
		return nil
	}
	var all []Device
	for _, e := range entries {
		at := path.Join(deviceClass, e.Name())
		port := path.Join(at, "ports/1")
		d := Device{Name: e.Name(), Kind: "InfiniBand", Interface: line(h.Files, path.Join(port, "gid_attrs/ndevs/0"))}
		// node_type is "1: CA" or "4: RNIC", state "4: ACTIVE" (sysfs-class-infiniband).
		switch {
		case strings.HasPrefix(line(h.Files, path.Join(at, "node_type")), "4"):
			d.Kind = "iWARP"
		case line(h.Files, path.Join(port, "link_layer")) == "Ethernet":
			d.Kind = "RoCE"
		}
		if d.Interface == "" { // that of IP over InfiniBand is not named by the GID
			if nets, err := fs.ReadDir(h.Files, path.Join(at, "device/net")); err == nil && len(nets) > 0 {
				d.Interface = nets[0].Name()
			}
		}
		state := line(h.Files, path.Join(port, "state"))
		d.Active = strings.HasPrefix(state, "4")
		_, d.State, _ = strings.Cut(state, ": ")
		if d.State == "" {
			d.State = "state unknown"
		}
		all = append(all, d)
	}
	return all
}

// deviceOf maps network interfaces to their RDMA devices.
func (h *Host) deviceOf() map[string]string {
	of := map[string]string{}
	for _, d := range h.Devices() {
		if d.Interface != "" && d.Active && of[d.Interface] == "" {
			of[d.Interface] = d.Name
		}
	}
	return of
}

// libraries are what the kernel's RDMA is used through, by the names of their
// interfaces, and where distributions put them.
var (
	libraries   = []string{"libibverbs.so.1", "librdmacm.so.1"}
	libraryDirs = []string{"lib", "lib64", "lib/*", "usr/lib", "usr/lib64", "usr/lib/*", "usr/local/lib", "usr/local/lib64"}
)

// Kernel returns nil if this process can use an RDMA device of the kernel, as
// far as can be seen without opening it. Else the error says why not and what to
// do; it is transport.ErrNotSupported.
func (h *Host) Kernel() error {
	missing := func(format string, args ...any) error {
		return fmt.Errorf("kernel RDMA: %s: %w", fmt.Sprintf(format, args...), transport.ErrNotSupported)
	}
	if !exists(h.Files, deviceClass) {
		return missing("/%s is not there: the kernel has no RDMA support loaded (modprobe the adapter's driver, or siw or rdma_rxe for one in software)", deviceClass)
	}
	devices := h.Devices()
	if len(devices) == 0 {
		return missing("/%s is empty: no adapter, or no driver for it (rdma link add siw0 type siw netdev IFACE makes one in software)", deviceClass)
	}
	nodes, err := fs.Glob(h.Files, deviceFiles+"/uverbs*")
	if err != nil || len(nodes) == 0 {
		return missing("no /%s/uverbs*, though there is %s: modprobe ib_uverbs, or let the container have the devices of /%s", deviceFiles, &devices[0], deviceFiles)
	}
	manager := deviceFiles + "/rdma_cm"
	if !exists(h.Files, manager) {
		return missing("no /%s: modprobe rdma_ucm", manager)
	}
	for _, node := range append(nodes, manager) {
		if err := h.Access("/" + node); err != nil {
			return fmt.Errorf("kernel RDMA: open /%s: %w (join the group that owns it, often rdma): %w", node, err, transport.ErrNotSupported)
		}
	}
	for _, library := range libraries {
		if !h.hasLibrary(library) {
			return missing("no %s: install rdma-core (Debian: libibverbs1, ibverbs-providers, librdmacm1)", library)
		}
	}
	for i := range devices {
		if devices[i].Active {
			return nil
		}
	}
	return missing("no port is active: %s", &devices[0])
}

func (h *Host) hasLibrary(name string) bool {
	for _, dir := range libraryDirs {
		if found, err := fs.Glob(h.Files, path.Join(dir, name)); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
