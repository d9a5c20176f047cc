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
	// Interface is the network interface of the first port, or "". There may be more that lead
	// to the device: see Sites.
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
