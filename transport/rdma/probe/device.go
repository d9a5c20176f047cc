package probe

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Device is a port of an RDMA device that the kernel drives.
type Device struct {
	// Name is the kernel's name of the device: mlx5_0, rxe0, siw0. Port counts from 1.
	Name string
	Port int
	// Kind is "InfiniBand", "RoCE", "iWARP" or "other transport".
	Kind string
	// Interfaces are the network interfaces that lead to the port. For RoCE they include the
	// interfaces of VLANs and bonds.
	Interfaces []string
	// Active reports whether the port has a link.
	Active bool
	// State is the state of the port in the kernel's words.
	State string
}

// kindOther is the Kind of a device for which rdma_cm makes no connections, for example of efa and usnic,
// and of a device whose node_type cannot be read.
const kindOther = "other transport"

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

const deviceClass = "sys/class/infiniband"

// Devices lists the ports of the RDMA devices of the kernel. The list includes devices that cannot
// be used.
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
	d := Device{Name: name, Port: number, Kind: kindOther, Interfaces: h.interfacesOf(port)}
	// node_type is "1: CA" or "4: RNIC", state "4: ACTIVE" (sysfs-class-infiniband).
	switch kind, _, _ := strings.Cut(line(h.Files, path.Join(deviceClass, name, "node_type")), ":"); {
	case kind == "4":
		d.Kind = "iWARP"
	case kind == "1" && line(h.Files, path.Join(port, "link_layer")) == "Ethernet":
		d.Kind = "RoCE"
	case kind == "1":
		d.Kind = "InfiniBand"
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

// withDevice returns the set of the network interfaces that have a usable RDMA device: its port has a link, and
// rdma_cm makes connections for it.
func (h *Host) withDevice() map[string]bool {
	set := map[string]bool{}
	for _, d := range h.Devices() {
		if !d.Active || d.Kind == kindOther {
			continue
		}
		for _, on := range d.Interfaces {
			set[on] = true
		}
	}
	return set
}
