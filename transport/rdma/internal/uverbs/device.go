package uverbs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// Driver is the kernel's number for a driver (enum rdma_driver_id).
type Driver uint32

// The drivers whose queues this package knows.
const (
	DriverRXE Driver = 14
	DriverSIW Driver = 18
)

// driverNames contains the names of the values of enum rdma_driver_id.
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
	// TransportInfiniBand is the transport of InfiniBand and of RoCE.
	TransportInfiniBand Transport = iota
	// TransportIWARP is iWARP. Only the kernel's connection manager can make its connections.
	TransportIWARP
	// TransportOther is a vendor's own transport, for instance of efa. rdma_cm does not support it.
	TransportOther
)

// Device is an RDMA device of the kernel.
type Device struct {
	// Name is the kernel's name of the device, for instance mlx5_0, rxe0 or siw0.
	Name string
	// File is the path of the device file without the leading /.
	File string
	// ABI is the version of the layout of the driver's queues.
	ABI int
	// Driver is the device's driver, or 0 if the kernel does not report it.
	Driver Driver
	// GUID is the device's node GUID.
	GUID uint64
	// Transport is the device's protocol.
	Transport Transport
	// Interface is the network interface of the first port, or "". Sites lists all interfaces that
	// lead to the device.
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

// Devices lists the RDMA devices of this host. If the host has no devices, the list is empty and
// Devices returns no error. Devices returns an error if it fails to read the properties of a
// device.
func Devices() ([]Device, error) { return devices(os.DirFS("/"), askKernel) }

// devices lists the devices in root, which is the root file system of this host or of a test. The
// argument ask is a function that returns those properties of the devices that netlink reports, by
// the name of the device.
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
			continue // the directory also contains the file abi_version
		}
		d, err := readDevice(root, e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // the device was removed after the directory was read
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
			if over := overInfiniBand(root, all[i].Name, 1); len(over) > 0 {
				all[i].Interface = over[0]
			}
		}
	}
	return all, nil
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

// transportOf returns the transport of a node_type of sysfs. "1: CA" and "4: RNIC" are the types
// that rdma_cm supports (Documentation/ABI/stable/sysfs-class-infiniband).
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

// parseGUID parses a GUID such as 0123:4567:89ab:cdef, which is in network byte order.
func parseGUID(text string) (uint64, error) {
	digits := strings.ReplaceAll(text, ":", "")
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || len(digits) != 16 {
		return 0, fmt.Errorf("%q is not a GUID", text)
	}
	return v, nil
}
