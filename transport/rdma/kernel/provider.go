package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Name is the name of the provider.
const Name = "kernel"

// ErrNoAddress says that a device has no address to bind connections to.
var ErrNoAddress = errors.New("no network address leads to the device")

// ErrNoDevices says that the kernel has no RDMA device.
var ErrNoDevices = fmt.Errorf("%w: the kernel has none at all: load the adapter's driver (modprobe mlx5_ib, irdma, bnxt_re, ...), or make a device in software (rdma link add siw0 type siw netdev eth0)", uverbs.ErrNoDevice)

// Config says how adapters are driven.
type Config struct {
	// Library says that siw and rxe are driven by libibverbs, too.
	Library bool
}

// Provider opens adapters of the kernel. It is safe for concurrent use.
type Provider struct{ config Config }

var _ provider.Provider = (*Provider)(nil)

// New returns a provider.
func New(c Config) *Provider { return &Provider{c} }

// Name implements provider.Provider.
func (p *Provider) Name() string { return Name }

// Interfaces lists the devices that Open can open, by the kernel's names.
func (p *Provider) Interfaces() ([]string, error) {
	all, err := uverbs.Devices()
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range all {
		if _, err := wayOf(&all[i], p.config.Library); err == nil {
			names = append(names, all[i].Name)
		}
	}
	return names, nil
}

// Explain says of each device of the kernel what drives it, or what is missing for that.
func (p *Provider) Explain() []string {
	all, err := uverbs.Devices()
	if err != nil {
		return []string{"RDMA devices: " + err.Error()}
	}
	lines := make([]string, 0, len(all))
	for i := range all {
		way, err := wayOf(&all[i], p.config.Library)
		if err != nil {
			way = "not usable: " + err.Error()
		}
		lines = append(lines, fmt.Sprintf("RDMA device %s, %v: %s", all[i].Name, all[i].Driver, way))
	}
	return lines
}

// Open opens a device, named by its name, by its network interface or by an address of that.
func (p *Provider) Open(name string, a provider.Adapter) (provider.Device, error) {
	found, err := find(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrInvalidParameter, err)
	}
	d, err := open(name, found, a, p.config.Library)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	}
	return d, nil
}

// place is a device and where it is in the network.
type place struct {
	device   uverbs.Device
	prefixes []netip.Prefix
}

// find returns the device of a name.
func find(name string) (place, error) {
	all, err := uverbs.Devices()
	if err != nil {
		return place{}, err
	}
	if len(all) == 0 {
		return place{}, fmt.Errorf("kernel: device %s: %w", name, ErrNoDevices)
	}
	names := make([]string, 0, len(all))
	for i := range all {
		names = append(names, all[i].Name)
		on := all[i].Interface
		prefixes := prefixesOf(on)
		if all[i].Name != name && (on == "" || on != name) && !contains(prefixes, name) {
			continue
		}
		if len(prefixes) == 0 {
			return place{}, fmt.Errorf("kernel: device %s: %w", all[i].Name, ErrNoAddress)
		}
		return place{device: all[i], prefixes: prefixes}, nil
	}
	return place{}, fmt.Errorf("kernel: device %s: %w; there is %s", name, uverbs.ErrNoDevice, strings.Join(append(names, "no other"), ", "))
}

// prefixesOf returns the addresses of an interface with their networks.
func prefixesOf(name string) []netip.Prefix {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil
	}
	list, err := i.Addrs()
	if err != nil {
		return nil
	}
	var all []netip.Prefix
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// contains reports whether an address is among those of an interface.
func contains(prefixes []netip.Prefix, name string) bool {
	a, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	for _, p := range prefixes {
		if p.Addr() == a.WithZone("") {
			return true
		}
	}
	return false
}
