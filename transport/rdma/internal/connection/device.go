package connection

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/rdmacm"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// lookEvery and lookPeriod are the fields Most and Period of the device's Cadence. A round is
	// one call of Progress. While no connection is being made or ended, the kernel is asked for
	// events in at least one of lookEvery rounds. If the rounds are further apart than lookPeriod,
	// the kernel is asked in each round. The only events at such times are requests of peers, ends
	// of connections, and changes of the device. These events can wait for lookEvery rounds.
	lookEvery  = 64
	lookPeriod = time.Millisecond
	// eventsMost bounds the events that one Progress handles.
	eventsMost = 16
)

// Pair is the queue pair of a connection.
type Pair interface {
	// Number returns the number of the queue pair.
	Number() uint32
	// SharesReceives reports whether the receives of the queue pair come from a shared receive
	// queue.
	SharesReceives() bool
	// Modify changes attributes of the queue pair, as ibv_modify_qp(3) does.
	Modify(a *rdmacm.Attributes) error
	// Take polls the available completions. It may call Connection.Break.
	Take()
	// Fail moves the queue pair to the state IBV_QPS_ERR. Then all posted work requests are
	// flushed.
	Fail()
}

// Config describes the device whose connections a Device makes.
type Config struct {
	// Channel is used by this Device alone. Device.Close closes it.
	Channel *rdmacm.Channel
	// GUID is the node GUID of the device. The kernel may bind an address to a device with another
	// GUID, see Device.owns.
	GUID uint64
	// IWARP reports whether the device is an iWARP device.
	IWARP bool
	// Interface is the device's network interface, the zone of its link-local addresses.
	Interface string
	// Addresses are the addresses of the interface.
	Addresses []netip.Prefix
	// Wake ends the provider's Sleep (see provider.Progress). Any goroutine may call Wake before
	// Device.Close. No goroutine may call it after Device.Close.
	Wake func()
	// Happened is the method Happened of provider.Adapter.
	Happened func(provider.Event)
}

// Device makes the connections of one RDMA device and handles their events.
type Device struct {
	Config
	looks    Cadence
	attempts int // connections that expect an event
	event    rdmacm.Event
	stirred  atomic.Bool

	// mu guards the fields below it, and the fields of Connection whose comment says so.
	mu      sync.Mutex
	results []result
	closed  bool
}

// result is the outcome of a Connect command that ran on a goroutine.
type result struct {
	connection *Connection
	err        error
}

// New makes a Device.
func New(c Config) *Device {
	return &Device{Config: c, looks: Cadence{Most: lookEvery, Period: lookPeriod}}
}

// Descriptor returns a file descriptor that is readable when Progress has events to handle. The
// provider's Sleep waits for it and then calls Stir.
func (d *Device) Descriptor() int { return d.Channel.Descriptor() }

// Stir makes the next Progress ask the kernel for events. Any goroutine may call it.
func (d *Device) Stir() { d.stirred.Store(true) }

// Limits returns how many bytes of private data a request, an accept and a reject can carry.
func (d *Device) Limits() (request, accept, reject int) {
	if d.IWARP {
		return iwarpDataMax, iwarpDataMax, iwarpDataMax
	}
	return requestDataMax, acceptDataMax, rejectDataMax
}

// Progress handles events and makes the upcalls. It returns the number of events and of results of
// commands that it has handled. An error concerns the device as a whole.
func (d *Device) Progress() (int, error) {
	if d.attempts == 0 && !d.looks.Due() && !d.stirred.Load() {
		return 0, nil
	}
	d.stirred.Store(false)
	n := d.conclude()
	for range eventsMost {
		more, err := d.Channel.Next(&d.event)
		if err != nil {
			return n, err
		}
		if !more {
			return n, nil
		}
		n++
		d.handle(&d.event)
	}
	d.Stir() // more events may be pending
	return n, nil
}

// handle handles one event.
func (d *Device) handle(e *rdmacm.Event) {
	switch e.Kind {
	case rdmacm.DeviceRemoval:
		d.Happened(provider.Event{Kind: provider.EventRemoved, Err: e.Err()})
	case rdmacm.AddressChange:
		d.Happened(provider.Event{Kind: provider.EventAddressChanged})
		return
	default:
	}
	switch of := e.ID.Context.(type) {
	case *Connection:
		of.handle(e)
	case *servicePoint:
		of.handle(e)
	}
}

// conclude handles the results of commands that ran on goroutines, and returns their number.
func (d *Device) conclude() int {
	d.mu.Lock()
	results := d.results
	d.results = nil
	d.mu.Unlock()
	for _, r := range results {
		r.connection.connected(r.err)
	}
	return len(results)
}

// source chooses the local address for connections to a remote address. If this device has an
// address in the network of the remote address, source chooses this address. Otherwise source
// chooses the first address of the same kind (IPv4, IPv6, or IPv6 link-local with the same zone).
func (d *Device) source(remote netip.Addr) (netip.Addr, error) {
	remote = remote.Unmap()
	var found netip.Addr
	for _, p := range d.Addresses {
		a := d.zoned(p.Addr())
		switch {
		case a.Is4() != remote.Is4() || a.IsLinkLocalUnicast() != remote.IsLinkLocalUnicast() || a.Zone() != remote.Zone():
		case p.Contains(remote.WithZone("")):
			return a, nil
		case !found.IsValid():
			found = a
		}
	}
	if !found.IsValid() {
		return found, fmt.Errorf("%w: the device has no address of the kind of %v", provider.ErrInvalidAddress, remote)
	}
	return found, nil
}

// zoned returns an address with the zone that the kernel needs to bind to the address or to connect
// to the address. For a request on RoCE the kernel does not report the zone.
func (d *Device) zoned(a netip.Addr) netip.Addr {
	if a = a.Unmap(); a.Is6() && a.IsLinkLocalUnicast() && a.Zone() == "" {
		return a.WithZone(d.Interface)
	}
	return a
}

// addresses returns the two addresses of an id, with zones.
func (d *Device) addresses(id *rdmacm.ID) (rdmacm.Addresses, error) {
	a, err := id.Addresses()
	a.Source = netip.AddrPortFrom(d.zoned(a.Source.Addr()), a.Source.Port())
	a.Destination = netip.AddrPortFrom(d.zoned(a.Destination.Addr()), a.Destination.Port())
	return a, err
}

// owns returns the addresses of an id. It returns an error if the kernel has bound the id to
// another device, which is possible if two devices are on one network interface.
func (d *Device) owns(id *rdmacm.ID) (rdmacm.Addresses, error) {
	a, err := d.addresses(id)
	if err == nil && a.NodeGUID != d.GUID {
		err = fmt.Errorf("%w: %v is of the device with GUID %016x, not of this one with %016x", provider.ErrInvalidAddress, a.Source, a.NodeGUID, d.GUID)
	}
	return a, err
}

// Close closes the channel. The kernel then ends the connections that are left.
func (d *Device) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	return d.Channel.Close()
}
