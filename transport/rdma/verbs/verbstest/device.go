package verbstest

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// device is the interface adapter of a Host.
type device struct {
	network    *Network
	adapter    provider.Adapter
	addr       netip.Addr
	attributes verbs.Attributes
	regions    map[uint32]*region
	key        uint32
	// pinned is the number of registered bytes. pinMost is the upper bound of pinned, or 0 if there
	// is no bound.
	pinned, pinMost int
	// stalled contains the pairs (queue pairs) whose next received message waits for a receive.
	stalled []*pair
	// events contains the events that the next Progress reports. The mutex inbox guards it.
	events []provider.Event

	inbox  sync.Mutex // guards the next three fields and events
	frames []frame
	closed bool
	due    time.Time // when the next retry is due, as computed by the last Idle
	spare  []frame   // memory for frames; guarded by the adapter's lock
	awake  chan struct{}
}

var _ provider.Device = (*device)(nil)

// region is registered memory.
type region struct {
	domain  *domain
	data    []byte
	access  provider.Access
	revoked bool
}

// point is a service point.
type point struct {
	device  *device
	address netip.AddrPort
	config  provider.ServicePointConfig
}

// frameKind is the kind of a frame.
type frameKind uint8

const (
	frameRequest frameKind = iota
	frameFailed            // the request of an active side has failed
	frameAccept
	frameReady // the active side has received the accept
	frameGone  // the active side does not exist any more
	frameSend
	frameWrite
	frameRead
	frameAtomic
	frameAnswer // the result of a Read or an atomic
	frameAck
	frameNak // the peer could not carry out a request
	frameBye
	frameByeSeen
	frameBroken
	frameCut // the network fails, and this end learns of it first
)

// frame is the unit that a Network carries from one device to another.
type frame struct {
	kind     frameKind
	to, from *pair
	point    *point
	source   netip.AddrPort
	proposal provider.Proposal
	why      provider.Failure
	err      error
	data     []byte
	address  uint64
	key      uint32
	length   int
	underWay int // Reads and atomics in flight from the sender, including this one
	flags    verbs.RequestFlags
	op       verbs.Opcode
	status   verbs.Status
	// number is the number of the request. signalled is true if the request has to be
	// acknowledged.
	number        uint64
	signalled     bool
	immediate     uint32
	compare, swap uint64
}

func (d *device) Attributes() verbs.Attributes { return d.attributes }

// happen makes the next Progress report an event.
func (d *device) happen(e provider.Event) {
	d.inbox.Lock()
	d.events = append(d.events, e)
	d.inbox.Unlock()
	d.Wake()
}

// domain is a protection domain.
type domain struct{ device *device }

func (d *device) NewProtectionDomain() (provider.ProtectionDomain, error) {
	return &domain{d}, nil
}

func (d *domain) Register(data []byte, access provider.Access) (provider.Registered, error) {
	on := d.device
	on.adapter.Lock()
	defer on.adapter.Unlock()
	if on.pinMost > 0 && on.pinned+len(data) > on.pinMost {
		return provider.Registered{}, fmt.Errorf("%w: %d bytes are pinned of at most %d, and %d more are needed", provider.ErrInsufficientResources, on.pinned, on.pinMost, len(data))
	}
	if on.attributes.SinksAreWritable && access&provider.AccessLocalWrite != 0 {
		access |= provider.AccessRemoteWrite
	}
	on.pinned += len(data)
	on.key += 0x101
	on.regions[on.key] = &region{domain: d, data: data, access: access}
	return provider.Registered{LKey: on.key, RKey: on.key, Address: uint64(on.key) << 32}, nil
}

func (d *domain) Deregister(r provider.Registered) error {
	d.device.adapter.Lock()
	defer d.device.adapter.Unlock()
	if m := d.device.regions[r.LKey]; m != nil {
		d.device.pinned -= len(m.data)
	}
	delete(d.device.regions, r.LKey)
	return nil
}

func (d *domain) Close() error { return nil }

// reach returns the n bytes that a peer names by key and address. It returns false if the domain
// has no such bytes, or if the peer does not have the given access right.
func (d *device) reach(domain *domain, key uint32, address uint64, n int, need verbs.Access) ([]byte, bool) {
	if n == 0 {
		return nil, true
	}
	r := d.regions[key]
	off := address - uint64(key)<<32
	if r == nil || r.revoked || r.domain != domain || r.access&need == 0 || off > uint64(len(r.data)) || uint64(n) > uint64(len(r.data))-off {
		return nil, false
	}
	return r.data[off : off+uint64(n)], true
}

// revoke ends the access of peers by a key. It returns false if no region of the domain has the
// key, or if the key was revoked before.
func (d *device) revoke(domain *domain, key uint32) bool {
	r := d.regions[key]
	if r == nil || r.revoked || r.domain != domain {
		return false
	}
	r.revoked = true
	return true
}

func (d *device) NewQueuePair(c provider.QueuePairConfig) (provider.QueuePair, provider.EndpointAttributes, error) {
	p := &pair{device: d, config: c, domain: c.Domain.(*domain)}
	p.shared, _ = c.Shared.(*sharedReceives)
	granted := c.Attributes
	granted.MaxRequests++ // imitates an adapter that rounds up
	return p, granted, nil
}

func (d *device) Listen(c provider.ServicePointConfig) (provider.ServicePoint, error) {
	n := d.network
	n.mu.Lock()
	defer n.mu.Unlock()
	at := c.Address
	if !at.Addr().IsValid() {
		at = netip.AddrPortFrom(d.addr, at.Port())
	}
	if at.Addr() != d.addr {
		return nil, verbs.ErrInvalidAddress
	}
	for at.Port() == 0 || c.Address.Port() == 0 && n.points[at] != nil {
		n.port++
		at = netip.AddrPortFrom(d.addr, n.port)
	}
	if n.points[at] != nil {
		return nil, verbs.ErrInsufficientResources
	}
	p := &point{device: d, address: at, config: c}
	n.points[at] = p
	return p, nil
}

func (p *point) Address() netip.AddrPort { return p.address }

func (p *point) Close() {
	n := p.device.network
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.points, p.address)
}

func (d *device) Close() error {
	d.inbox.Lock()
	frames := d.frames
	d.frames, d.closed = nil, true
	d.inbox.Unlock()
	for i := range frames {
		switch f := &frames[i]; f.kind {
		case frameRequest:
			f.from.device.send(frame{kind: frameFailed, to: f.from, why: provider.FailureRefused, err: errReset})
		case frameAccept:
			f.from.device.send(frame{kind: frameGone, to: f.from})
		default:
		}
	}
	n := d.network
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.hosts, d.addr)
	n.left[d.addr] = true
	return nil
}

func (d *device) Progress() (int, error) {
	d.inbox.Lock()
	frames := d.frames
	d.frames = d.spare[:0]
	events := d.events
	d.events = nil
	d.inbox.Unlock()
	for _, e := range events {
		d.adapter.Happened(e)
	}
	n := len(frames) + len(events)
	for i := range frames {
		frames[i].handle(d)
	}
	clear(frames)
	d.spare = frames
	if len(d.stalled) > 0 {
		n += d.retry()
	}
	return n, nil
}

func (d *device) Idle() bool {
	d.inbox.Lock()
	defer d.inbox.Unlock()
	if len(d.frames)+len(d.events) > 0 {
		return false
	}
	d.due = time.Time{}
	for _, p := range d.stalled {
		if p.available() > 0 {
			return false
		}
		if d.due.IsZero() || p.again.Before(d.due) {
			d.due = p.again
		}
	}
	return true
}

func (d *device) Sleep(until time.Time) {
	d.inbox.Lock()
	due := d.due
	d.inbox.Unlock()
	if until.IsZero() || !due.IsZero() && due.Before(until) {
		until = due
	}
	if until.IsZero() {
		<-d.awake
		return
	}
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-d.awake:
	case <-t.C:
	}
}

func (d *device) Wake() {
	select {
	case d.awake <- struct{}{}:
	default:
	}
}

// retry retries the held messages of each stalled queue pair for which a receive has been posted or
// the time of the retry has come. It returns the number of processed messages.
func (d *device) retry() int {
	stalled := d.stalled
	d.stalled = nil
	n, now := 0, time.Now()
	for _, p := range stalled {
		if len(p.held) > 0 && p.available() == 0 && now.Before(p.again) {
			d.stalled = append(d.stalled, p)
			continue
		}
		p.stalled = false
		n += p.resume()
	}
	return n
}
