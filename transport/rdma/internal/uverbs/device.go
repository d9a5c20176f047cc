package uverbs

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"strconv"
	"strings"
)

// Driver is the kernel's number of a driver (enum rdma_driver_id).
type Driver uint32

// The drivers whose queues this package knows.
const (
	DriverRXE Driver = 14
	DriverSIW Driver = 18
)

// driverNames are those of enum rdma_driver_id.
var driverNames = [...]string{
	"a driver without a name", "mlx5", "mlx4", "cxgb3", "cxgb4", "mthca", "bnxt_re", "ocrdma", "nes", "irdma", "vmw_pvrdma", "qedr", "hns", "usnic",
	"rxe", "hfi1", "qib", "efa", "siw", "erdma", "mana",
}

// String implements fmt.Stringer.
func (d Driver) String() string {
	if int64(d) < int64(len(driverNames)) {
		return driverNames[d]
	}
	return fmt.Sprintf("driver %d", uint32(d))
}

// Transport is the protocol of a device.
type Transport uint8

// The transports.
const (
	// TransportInfiniBand is that of InfiniBand and of RoCE.
	TransportInfiniBand Transport = iota
	// TransportIWARP is iWARP: connections are made by the kernel's connection manager alone.
	TransportIWARP
	// TransportOther is one of a vendor, as that of efa: rdma_cm makes no connections of it.
	TransportOther
)

// Device is an RDMA device of the kernel.
type Device struct {
	// Name is the kernel's: mlx5_0, rxe0, siw0.
	Name string
	// File is the device file, below /.
	File string
	// ABI is the version of the driver's queues.
	ABI int
	// Driver is 0 if the kernel does not say.
	Driver Driver
	// GUID is that of the node.
	GUID uint64
	// Transport is the protocol.
	Transport Transport
	// Interface is the network interface of the first port, or "".
	Interface string
}

const (
	verbsClass  = "sys/class/infiniband_verbs"
	deviceClass = "sys/class/infiniband"
	deviceFiles = "dev/infiniband"
	netClass    = "sys/class/net"
	// linkInfiniBand is ARPHRD_INFINIBAND (linux/if_arp.h).
	linkInfiniBand = "32"
)

// Devices lists the devices of this machine. An error is one of reading what is there: no
// device at all is none.
func Devices() ([]Device, error) { return devices(os.DirFS("/"), askKernel) }

// devices reads them from a file system whose root is this machine's. ask says what
// netlink says.
func devices(root fs.FS, ask func() (map[string]particulars, error)) ([]Device, error) {
	entries, err := fs.ReadDir(root, verbsClass)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("uverbs: list devices: %w", err)
	}
	var all []Device
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "uverbs") {
			continue // abi_version of the class
		}
		d, err := readDevice(root, e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("uverbs: list devices: %w", err)
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, nil
	}
	known, err := ask()
	if err != nil {
		return nil, fmt.Errorf("uverbs: list devices: ask the kernel for their drivers: %w", err)
	}
	for i := range all {
		p := known[all[i].Name]
		all[i].Driver, all[i].Interface = p.driver, p.on
		if p.on == "" {
			all[i].Interface = overInfiniBand(root, all[i].Name)
		}
	}
	return all, nil
}

// overInfiniBand is the network interface of IP over InfiniBand of a device, or "". Its
// hardware is the device's; its dev_port counts ports from 0.
func overInfiniBand(root fs.FS, device string) string {
	entries, err := fs.ReadDir(root, netClass)
	if err != nil {
		return ""
	}
	is := func(name, attribute, value string) bool {
		text, err := fs.ReadFile(root, path.Join(netClass, name, attribute))
		return err == nil && strings.TrimSpace(string(text)) == value
	}
	for _, e := range entries {
		if _, err := fs.Stat(root, path.Join(netClass, e.Name(), "device/infiniband", device)); err != nil {
			continue
		}
		if is(e.Name(), "type", linkInfiniBand) && is(e.Name(), "dev_port", "0") {
			return e.Name()
		}
	}
	return ""
}

func readDevice(root fs.FS, entry string) (Device, error) {
	line := func(name string) (string, error) {
		text, err := fs.ReadFile(root, name)
		return strings.TrimSpace(string(text)), err
	}
	at := path.Join(verbsClass, entry)
	d := Device{File: path.Join(deviceFiles, entry)}
	var err error
	if d.Name, err = line(path.Join(at, "ibdev")); err != nil {
		return d, err
	}
	version, err := line(path.Join(at, "abi_version"))
	if err != nil {
		return d, err
	}
	if d.ABI, err = strconv.Atoi(version); err != nil {
		return d, fmt.Errorf("%s: abi_version: %w", d.Name, err)
	}
	guid, err := line(path.Join(deviceClass, d.Name, "node_guid"))
	if err != nil {
		return d, err
	}
	if d.GUID, err = parseGUID(guid); err != nil {
		return d, fmt.Errorf("%s: node_guid: %w", d.Name, err)
	}
	kind, err := line(path.Join(deviceClass, d.Name, "node_type"))
	d.Transport = transportOf(kind)
	return d, err
}

// transportOf is the transport of a node_type, which is "1: CA" or "4: RNIC" of those that
// rdma_cm knows (Documentation/ABI/stable/sysfs-class-infiniband).
func transportOf(kind string) Transport {
	switch number, _, _ := strings.Cut(kind, ":"); number {
	case "1":
		return TransportInfiniBand
	case "4":
		return TransportIWARP
	default:
		return TransportOther
	}
}

// parseGUID reads 0123:4567:89ab:cdef, whose order is that of the network.
func parseGUID(text string) (uint64, error) {
	digits := strings.ReplaceAll(text, ":", "")
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || len(digits) != 16 {
		return 0, fmt.Errorf("%q is not a GUID", text)
	}
	return v, nil
}

// Find returns the device of a name. The error is ErrNoDevice with what there is.
func Find(name string) (Device, error) {
	all, err := Devices()
	if err != nil {
		return Device{}, err
	}
	return find(all, name)
}

func find(all []Device, name string) (Device, error) {
	names := make([]string, 0, len(all))
	for _, d := range all {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	there := "there is none"
	if len(names) > 0 {
		there = "there is " + strings.Join(names, ", ")
	}
	return Device{}, &Error{Op: "find", Device: name, Err: fmt.Errorf("%w: %s", ErrNoDevice, there)}
}

// GID is an address of a port.
type GID struct {
	// Index is the place in the port's table.
	Index int
	// Address is all 16 bytes; of RoCE v2 an IPv6 address, or an IPv4 address mapped to one.
	Address netip.Addr
	// Kind is the kernel's text: "RoCE v2", "IB/RoCE v1".
	Kind string
	// Interface is the network interface, or "".
	Interface string
}

// GIDs lists the addresses of a port; those that are all zero are places that are free.
func (d *Device) GIDs(port int) ([]GID, error) {
	all, err := gids(os.DirFS("/"), d.Name, port)
	if err != nil {
		return nil, &Error{Op: "list GIDs", Device: d.Name, Err: err}
	}
	return all, nil
}

func gids(root fs.FS, name string, port int) ([]GID, error) {
	at := path.Join(deviceClass, name, "ports", strconv.Itoa(port))
	entries, err := fs.ReadDir(root, path.Join(at, "gids"))
	if err != nil {
		return nil, err
	}
	var all []GID
	for _, e := range entries {
		index, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := fs.ReadFile(root, path.Join(at, "gids", e.Name()))
		if err != nil {
			continue // a place that is free, on some drivers
		}
		address, err := netip.ParseAddr(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, fmt.Errorf("GID %d: %w", index, err)
		}
		if address.IsUnspecified() {
			continue
		}
		// iWARP has no types, InfiniBand no interfaces.
		kind, _ := fs.ReadFile(root, path.Join(at, "gid_attrs/types", e.Name()))
		on, _ := fs.ReadFile(root, path.Join(at, "gid_attrs/ndevs", e.Name()))
		all = append(all, GID{Index: index, Address: address, Kind: strings.TrimSpace(string(kind)), Interface: strings.TrimSpace(string(on))})
	}
	return all, nil
}
