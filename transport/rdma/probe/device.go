package probe

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gorun-hpc/gorun/transport"
)

// Device is a port of an RDMA device that the kernel drives.
type Device struct {
	// Name is the kernel's name of the device: mlx5_0, rxe0, siw0. Port counts from 1.
	Name string
	Port int
	// Kind is "InfiniBand", "RoCE" or "iWARP".
	Kind string
	// Interfaces are the network interfaces that lead to the port. For RoCE they include the
	// interfaces of VLANs and bonds.
	Interfaces []string
	// Active reports whether the port has a link.
	Active bool
	// State is the state of the port in the kernel's words.
	State string
}

// Spelling returns the name by which the device can be opened. It is the name of the device,
// followed by the port if the port is not 1.
func (d *Device) Spelling() string {
	if d.Port > 1 {
		return d.Name + ":" + strconv.Itoa(d.Port)
	}
	return d.Name
}

// String describes the device in one line.
func (d *Device) String() string {
	s := d.Spelling() + " " + d.Kind
	if len(d.Interfaces) > 0 {
		s += " on " + strings.Join(d.Interfaces, ", ")
	}
	return s + ", port " + strings.ToLower(d.State)
}

const (
	deviceClass = "sys/class/infiniband"
	deviceFiles = "dev/infiniband"
)

// Devices lists the ports of the RDMA devices of the kernel. The list includes devices that cannot
// be used. The method Kernel checks whether a device can be used.
func (h *Host) Devices() []Device {
	entries, err := fs.ReadDir(h.Files, deviceClass)
	if err != nil {
		return nil
	}
	var all []Device
	for _, e := range entries {
		for port := 1; port == 1 || exists(h.Files, portOf(e.Name(), port)); port++ {
			all = append(all, h.device(e.Name(), port))
		}
	}
	return all
}

// portOf returns the directory with the kernel's attributes of a port.
func portOf(name string, port int) string {
	return path.Join(deviceClass, name, "ports", strconv.Itoa(port))
}

// device reads the kernel's attributes of a port.
func (h *Host) device(name string, number int) Device {
	port := portOf(name, number)
	d := Device{Name: name, Port: number, Kind: "InfiniBand", Interfaces: h.interfacesOf(port)}
	// node_type is "1: CA" or "4: RNIC", state "4: ACTIVE" (sysfs-class-infiniband).
	switch {
	case strings.HasPrefix(line(h.Files, path.Join(deviceClass, name, "node_type")), "4"):
		d.Kind = "iWARP"
	case line(h.Files, path.Join(port, "link_layer")) == "Ethernet":
		d.Kind = "RoCE"
	}
	if len(d.Interfaces) == 0 { // gid_attrs does not contain the interfaces of IP over InfiniBand
		nets, _ := fs.ReadDir(h.Files, path.Join(deviceClass, name, "device/net")) // a device in software has none
		for _, n := range nets {
			if at := line(h.Files, path.Join(deviceClass, name, "device/net", n.Name(), "dev_port")); at == "" || at == strconv.Itoa(number-1) {
				d.Interfaces = append(d.Interfaces, n.Name())
			}
		}
	}
	state := line(h.Files, path.Join(port, "state"))
	d.Active = strings.HasPrefix(state, "4")
	_, d.State, _ = strings.Cut(state, ": ")
	if d.State == "" {
		d.State = "state unknown"
	}
	return d
}

// interfacesOf lists the network interfaces of the GIDs of a port, in the order of the GIDs'
// indices.
func (h *Host) interfacesOf(port string) []string {
	entries, err := fs.ReadDir(h.Files, path.Join(port, "gid_attrs/ndevs"))
	if err != nil {
		return nil
	}
	var indices []int
	for _, e := range entries {
		if index, err := strconv.Atoi(e.Name()); err == nil {
			indices = append(indices, index)
		}
	}
	slices.Sort(indices)
	var all []string
	for _, index := range indices {
		name := line(h.Files, path.Join(port, "gid_attrs/ndevs", strconv.Itoa(index)))
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// deviceOf maps network interfaces to their RDMA devices. It contains only devices with an active
// port.
func (h *Host) deviceOf() map[string]string {
	of := map[string]string{}
	for _, d := range h.Devices() {
		for _, on := range d.Interfaces {
			if d.Active && of[on] == "" {
				of[on] = d.Spelling()
			}
		}
	}
	return of
}

// library is the file name of libibverbs, by which gorun uses the devices that it does not drive in
// Go. libraryDirs are the directories in which distributions install it.
const library = "libibverbs.so.1"

var libraryDirs = []string{"lib", "lib64", "lib/*", "usr/lib", "usr/lib64", "usr/lib/*", "usr/local/lib", "usr/local/lib64"}

// Kernel returns nil if this process can probably use an RDMA device of the kernel. Kernel opens no
// device. If no device can be used, the error gives the reason and the remedy, and errors.Is finds
// transport.ErrNotSupported in it.
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
	for _, files := range [][]string{nodes, {manager}} {
		if err := h.anyAccess(files); err != nil {
			return err
		}
	}
	at := slices.IndexFunc(devices, func(d Device) bool { return d.Active })
	if at < 0 {
		return missing("no port is active: %s", &devices[0])
	}
	if !h.hasLibrary(library) && !slices.ContainsFunc(devices, func(d Device) bool { return d.Active && h.Driven(d.Name) }) {
		return missing("no %s, which %s needs: install rdma-core (Debian: libibverbs1, ibverbs-providers)", library, &devices[at])
	}
	return nil
}

// anyAccess returns nil if this process may read and write at least one of the device files.
func (h *Host) anyAccess(files []string) error {
	var denied error
	for _, file := range files {
		err := h.Access("/" + file)
		if err == nil {
			return nil
		}
		denied = fmt.Errorf("kernel RDMA: open /%s: %w (join the group that owns it, often rdma): %w", file, err, transport.ErrNotSupported)
	}
	return denied
}

func (h *Host) hasLibrary(name string) bool {
	for _, dir := range libraryDirs {
		if found, err := fs.Glob(h.Files, path.Join(dir, name)); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
