package kernel

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Name is the name of the provider.
const Name = "kernel"

// ErrNoAddress reports that a device has no address to which connections can be bound.
var ErrNoAddress = errors.New("no network address leads to the device")

// ErrNoDevices reports that the kernel has no RDMA device.
var ErrNoDevices = fmt.Errorf("%w: the kernel has none at all: load the adapter's driver (modprobe mlx5_ib, irdma, bnxt_re, ...), or make a device in software (rdma link add siw0 type siw netdev eth0)", uverbs.ErrNoDevice)

// Config selects how a Provider accesses adapters.
type Config struct {
	// Library is true if libibverbs also drives siw and rxe.
	Library bool
}

// Provider opens adapters of the kernel. It is safe for concurrent use.
type Provider struct{ config Config }

var _ provider.Provider = (*Provider)(nil)

// New returns a provider.
func New(c Config) *Provider { return &Provider{c} }

// Name implements provider.Provider.
func (p *Provider) Name() string { return Name }

// Interfaces lists the devices that uverbs or libibverbs can drive, by the kernel's names. Open can
// still fail for such a device, for example if no network address leads to it.
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

// Explain returns a line for each RDMA device of the kernel. The line says how the device is
// driven, or why it cannot be used.
func (p *Provider) Explain() []string {
	all, err := uverbs.Devices()
	if err != nil {
		return []string{"RDMA devices: " + err.Error()}
	}
	lines := make([]string, 0, len(all))
	for i := range all {
		way, err := explain(&all[i], p.config.Library)
		if err != nil {
			way = "not usable: " + err.Error()
		}
		lines = append(lines, fmt.Sprintf("RDMA device %s, %v: %s", all[i].Name, all[i].Driver, way))
	}
	return lines
}

// explain returns the text of wayOf, followed by that of abilitiesOf. It returns an error if the device
// cannot be used.
func explain(d *uverbs.Device, byLibrary bool) (string, error) {
	a, way, err := openAdapter(d, byLibrary)
	if err != nil {
		return "", err
	}
	defer func() { _ = a.Close() }() // Close cannot fail, because the adapter has no objects
	limits, err := a.Attributes()
	if err != nil {
		return "", err
	}
	return way + abilitiesOf(&limits, a.OnDemand()), nil
}

// abilitiesOf returns a text about the optional features that jobs use. The text says which of them
// the device offers.
func abilitiesOf(l *uverbs.Attributes, onDemand bool) string {
	text := ""
	if l.MaxSharedQueues == 0 {
		text += ", not for jobs: has no shared receive queues"
	}
	if onDemand {
		return text + ", memory that cannot be pinned is paged on demand, relaxed ordering is asked for"
	}
	return text + ", all memory is pinned, relaxed ordering is asked for"
}

// Open opens a device. name is the name of the device, optionally with the number of a port
// (mlx4_0:2). It may also be the name of a network interface that leads to the device, or an
// address of such an interface.
func (p *Provider) Open(name string, a provider.Adapter) (provider.Device, error) {
	all, err := uverbs.Devices()
	var found place
	if err == nil {
		found, err = choose(all, (*uverbs.Device).Sites, prefixesOf, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrInvalidParameter, err)
	}
	d, err := open(name, found, a, p.config.Library)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	}
	return d, nil
}
