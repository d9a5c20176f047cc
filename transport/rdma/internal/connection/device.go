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
	// lookEvery and lookPeriod are how often the kernel is asked for events while no connection
	// is being made or ended: a request or an end can wait a moment.
	lookEvery  = 64
	lookPeriod = time.Millisecond
	// eventsMost bounds the events that one Progress takes.
	eventsMost = 16
)

// Pair is the queue pair of a connection.
type Pair interface {
	// Number is the queue pair's.
	Number() uint32
	// SharesReceives says that its receives come from a shared queue.
	SharesReceives() bool
	// Modify is ibv_modify_qp(3).
	Modify(a *rdmacm.Attributes) error
	// Take takes the completions that are there. It may call Connection.Break.
	Take()
	// Fail moves it to IBV_QPS_ERR: what is posted is flushed.
	Fail()
}

// Config is the device that connections are of.
type Config struct {
	// Channel is the device's alone. Close closes it.
	Channel *rdmacm.Channel
	// GUID is the device's: addresses may lead to another one.
	GUID uint64
	// IWARP says that the device is one of iWARP.
	IWARP bool
	// Interface is the device's network interface, the zone of its link-local addresses.
	Interface string
	// Addresses are those of the interface.
	Addresses []netip.Prefix
	// Wake ends a Sleep. It is called from any goroutine, not after Close.
	Wake func()
	// Happened is Adapter.Happened.
	Happened func(provider.Event)
}

// Device has the connections of one device.
type Device struct {
	Config
	looks    Cadence
	attempts int // connections that wait for an event
	event    rdmacm.Event
	stirred  atomic.Bool

	// mu guards the variables below it, and those of a Connection that say so.
	mu      sync.Mutex
	results []result
	closed  bool
}

// result is what a command said that ran on a goroutine.
type result struct {
	connection *Connection
	err        error
}

// New makes the connections' part of a device.
func New(c Config) *Device {
	return &Device{Config: c, looks: Cadence{Most: lookEvery, Period: lookPeriod}}
}

// Descriptor is readable when Progress has events: Sleep waits for it, and calls Stir.
func (d *Device) Descriptor() int { return d.Channel.Descriptor() }

// Stir makes the next Progress look for events. It is called from any goroutine.
func (d *Device) Stir() { d.stirred.Store(true) }

// Limits returns how much private data requests, accepts and rejects take.
func (d *Device) Limits() (request, accept, reject int) {
	if d.IWARP {
		return iwarpDataMax, iwarpDataMax, iwarpDataMax
	}
	return requestDataMax, acceptDataMax, rejectDataMax
}

// Progress takes events and makes the upcalls. It returns how many. The error is one of
// the device as a whole.
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
	d.Stir() // there may be more
	return n, nil
}

// handle serves one event.
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

// conclude takes the results of commands that ran on goroutines.
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

// source chooses the local address for a remote one: one of the same network, else of the
// same kind.
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

// zoned is an address as it is bound to, or as the peer is reached: the kernel does not say
// the zone of a request on RoCE.
func (d *Device) zoned(a netip.Addr) netip.Addr {
	if a = a.Unmap(); a.Is6() && a.IsLinkLocalUnicast() && a.Zone() == "" {
		return a.WithZone(d.Interface)
	}
	return a
}

// addresses are those of an id, with zones.
func (d *Device) addresses(id *rdmacm.ID) (rdmacm.Addresses, error) {
	a, err := id.Addresses()
	a.Source = netip.AddrPortFrom(d.zoned(a.Source.Addr()), a.Source.Port())
	a.Destination = netip.AddrPortFrom(d.zoned(a.Destination.Addr()), a.Destination.Port())
	return a, err
}

// owns checks that an id is on this device: two devices may be on one network interface.
func (d *Device) owns(id *rdmacm.ID) (rdmacm.Addresses, error) {
	a, err := d.addresses(id)
	if err == nil && a.NodeGUID != d.GUID {
		err = fmt.Errorf("%w: %v is of the device with GUID %016x, not of this one with %016x", provider.ErrInvalidAddress, a.Source, a.NodeGUID, d.GUID)
	}
	return a, err
}

// Close ends what is left.
func (d *Device) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	return d.Channel.Close()
}
