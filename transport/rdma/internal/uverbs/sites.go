package uverbs

import (
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// GID is an entry of the GID table of a port.
type GID struct {
	// Index is the index in the port's table.
	Index int
	// Address contains the 16 bytes of the GID. With RoCE v2 it is an IPv6 address, or an IPv4
	// address mapped to IPv6.
	Address netip.Addr
	// Kind is the kernel's name of the GID type, for instance "RoCE v2". GIDs of InfiniBand, RoCE v1
	// and iWARP all have the type "IB/RoCE v1".
	Kind string
	// Interface is the network interface of the GID, or "" if the GID has no interface. GIDs of iWARP
	// have an interface since Linux 6.6.
	Interface string
}

// GIDs lists the GIDs of a port. It leaves out the free entries of the table, which are all zero.
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
			continue // some drivers fail to read a free entry
		}
		address, err := netip.ParseAddr(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, fmt.Errorf("GID %d: %w", index, err)
		}
		if address.IsUnspecified() {
			continue
		}
		// Both files are empty if the kernel fails to read them: GIDs of InfiniBand have no interface.
		kind, _ := fs.ReadFile(root, path.Join(at, "gid_attrs/types", e.Name()))
		on, _ := fs.ReadFile(root, path.Join(at, "gid_attrs/ndevs", e.Name()))
		all = append(all, GID{Index: index, Address: address, Kind: strings.TrimSpace(string(kind)), Interface: strings.TrimSpace(string(on))})
	}
	slices.SortFunc(all, func(a, b GID) int { return a.Index - b.Index }) // because ReadDir sorts the numbers as text
	return all, nil
}

// kindRoCEv2 is the Kind of a GID of RoCE v2. Packets of RoCE v2 are UDP packets, and routers
// forward them. Packets of RoCE v1 cannot leave their Ethernet, because routers do not forward
// them.
const kindRoCEv2 = "RoCE v2"

// Site is a network interface that leads to a port of a device. With RoCE, the interface of each
// VLAN and of each bond is also a Site.
type Site struct {
	Port      int
	Interface string
	// Addresses contains the IP addresses of the interface that are GIDs of the port. It is nil if
	// the GIDs are not IP addresses, as on InfiniBand and iWARP.
	Addresses []netip.Addr
	// Version2 contains the elements of Addresses that have a GID of RoCE v2.
	Version2 []netip.Addr
}

// Sites lists the sites of the device by port. They are d.Interface on port 1, the interfaces of the GIDs, and
// the interfaces of IP over InfiniBand.
func (d *Device) Sites() []Site { return sites(os.DirFS("/"), d) }

func sites(root fs.FS, d *Device) []Site {
	var all []Site
	for port := 1; ; port++ {
		if _, err := fs.Stat(root, path.Join(deviceClass, d.Name, "ports", strconv.Itoa(port))); err != nil && port > 1 {
			return all
		}
		at := func(name string) *Site {
			i := slices.IndexFunc(all, func(s Site) bool { return s.Port == port && s.Interface == name })
			if i < 0 {
				i = len(all)
				all = append(all, Site{Port: port, Interface: name})
			}
			return &all[i]
		}
		if port == 1 && d.Interface != "" {
			at(d.Interface)
		}
		list, _ := gids(root, d.Name, port) // without GIDs, d.Interface and IP over InfiniBand remain
		for _, g := range list {
			if g.Interface == "" {
				continue
			}
			s := at(g.Interface)
			if d.Transport == TransportIWARP { // the GID contains the MAC address of the interface
				continue
			}
			if a := g.Address.Unmap(); !slices.Contains(s.Addresses, a) {
				s.Addresses = append(s.Addresses, a)
			}
			if g.Kind == kindRoCEv2 {
				s.Version2 = append(s.Version2, g.Address.Unmap())
			}
		}
		for _, name := range overInfiniBand(root, d.Name, port) {
			at(name)
		}
	}
}

// overInfiniBand returns the network interfaces of IP over InfiniBand of a port. In sysfs, the
// directory device/infiniband of such an interface contains the device, and the file dev_port of
// the interface contains the port, counted from 0.
func overInfiniBand(root fs.FS, device string, port int) []string {
	entries, err := fs.ReadDir(root, netClass)
	if err != nil {
		return nil
	}
	is := func(name, attribute, value string) bool {
		text, err := fs.ReadFile(root, path.Join(netClass, name, attribute))
		return err == nil && strings.TrimSpace(string(text)) == value
	}
	var all []string
	for _, e := range entries {
		if _, err := fs.Stat(root, path.Join(netClass, e.Name(), "device/infiniband", device)); err != nil {
			continue
		}
		if is(e.Name(), "type", linkInfiniBand) && is(e.Name(), "dev_port", strconv.Itoa(port-1)) {
			all = append(all, e.Name())
		}
	}
	return all
}
