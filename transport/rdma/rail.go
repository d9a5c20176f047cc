package rdma

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/credit"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/negotiation"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// FabricTCP is the name of the fabric of iWARP over TCP.
const FabricTCP = "tcp"

// Rail describes the adapter to open for one rail, and the fabric to which the adapter belongs.
type Rail struct {
	// Provider and Interface name the adapter to open. Listen is the address at which to listen on
	// the adapter. The zero value means any free port of the interface's own address.
	Provider  verbs.Provider
	Interface string
	Listen    netip.AddrPort
	// Fabric names the network that connects the adapter with other adapters. Connections are
	// requested only between rails whose fabrics have the same name. "" means FabricTCP.
	Fabric string
	// Optional reports whether the rank continues without the adapter if the adapter cannot be
	// opened. Explain then gives the reason.
	Optional bool
}

// Location is the address at which a rail of a rank listens.
type Location struct {
	// Rail is the number of the rail among the rails of its rank.
	Rail uint8
	// Fabric is the fabric of the rail, and Address the address at which it listens.
	Fabric  string
	Address netip.AddrPort
}

// railsMax is the maximum number of rails of a rank, because the number of a rail is one byte in a
// Location, a key and a record.
const railsMax = 256

// rail is an open adapter and the objects that are made on it. The lanes (type endpoint) and the
// actors are not part of a rail but of the transport. A lane keeps its sequence numbers and its
// flow control when the connection changes to another rail. The size of a receive is the same on
// all rails, so that a frame that was built for one rail fits every other rail. The endpoint of
// verbs, the window, and the control frames exist once per link.
type rail struct {
	t      *Transport
	index  uint8
	config Rail
	// encrypted reports whether the connections of the rail are encrypted.
	encrypted bool

	adapter    *verbs.Adapter
	limits     verbs.Attributes
	policy     negotiation.Policy
	attributes verbs.EndpointAttributes
	domain     *verbs.ProtectionDomain
	queue      *verbs.CompletionQueue
	listener   *verbs.Listener
	pool       *credit.Pool
	receives   *receives
	sends      *sendMemory
	registered *registrations

	// links is the number of connections and attempts that are open, at most linksMax.
	links, linksMax int
	// sides is the number of open side connections, which are not counted in links. It is at most
	// sidesMax.
	sides, sidesMax int
	pace            pace
	// skipped reports whether the pace skips the rail in this Poll.
	skipped bool
	// held reports whether requests wait for Adapter.Begin.
	held bool
	// fault is the reason why no connection is made on the rail, or nil if connections may be made.
	// Poll sets it, and actors read it.
	fault atomic.Pointer[error]
	// down is the error that says that the port is down, or nil if the port is up. If the port is down, fault is nil
	// only if the connections of the rail are kept.
	down error
	// removed reports whether the adapter is gone permanently.
	removed bool
}

// openRail opens the adapter of a rail, and checks that the adapter has the features that this
// package needs.
func (t *Transport) openRail(c Rail) (*rail, error) {
	if c.Fabric == "" {
		c.Fabric = FabricTCP
	}
	r := &rail{t: t, config: c}
	var err error
	if r.adapter, err = verbs.Open(c.Provider, c.Interface); err != nil {
		return nil, err
	}
	r.limits = r.adapter.Attributes()
	if lack := lackOf(&r.limits); lack != "" {
		_ = r.adapter.Close() // no object of the adapter exists
		return nil, fmt.Errorf("%w: %s %s", transport.ErrNotSupported, r.limits.Provider, lack)
	}
	return r, nil
}

// lackOf returns the feature that an adapter lacks and that this package needs, or "".
func lackOf(a *verbs.Attributes) string {
	switch {
	case a.MaxSharedReceives == 0:
		return "has no shared receive queues"
	case a.WaitsForReceive && a.MaxRequestData < negotiation.Size:
		return fmt.Sprintf("carries only %d bytes of private data in a connection request, not %d", a.MaxRequestData, negotiation.Size)
	default:
		return ""
	}
}

// prepare makes the objects of a rail that do not depend on a peer. slot is the size of a receive,
// which is the same on all rails.
func (r *rail) prepare(slot int) error {
	c, a, m := &r.t.config, &r.limits, &r.t.measure
	peers := max(c.Size-1, 1)
	if r.striped() && r.t.severalStriped() {
		r.sidesMax = min(sidesMost, 2*peers)
	}
	sides := r.sidesMax * credit.Reserve
	r.pool = credit.NewPool(peers, slot, a.MaxSharedReceives-sides)
	slot = r.pool.Slot()
	r.policy = negotiation.Policy{
		Slot: slot,
		Limits: negotiation.Limits{
			Want:   negotiation.Depths{IRD: min(c.ReadsIn, m.reads), ORD: min(c.ReadsOut, m.reads)},
			Device: negotiation.Depths{IRD: a.MaxReadsIn, ORD: a.MaxReadsOut},
		},
	}
	if c.NoCRC {
		r.policy.Features = negotiation.WithoutCRC
	}
	offer := r.policy.Limits.Offer()
	r.attributes = a.Endpoint
	r.attributes.MaxMessage, r.attributes.MaxRDMA = slot, a.MaxRDMA
	r.attributes.MaxReceives, r.attributes.MaxReceiveSegments = 0, 1
	r.attributes.MaxRequests, r.attributes.MaxRequestSegments = min(m.requests(offer.ORD), a.MaxRequests), 1
	r.attributes.MaxInline, r.attributes.ReadsIn, r.attributes.ReadsOut = 0, offer.IRD, offer.ORD
	var err error
	if r.domain, err = r.adapter.NewProtectionDomain(); err != nil {
		return err
	}
	if r.registered, err = newRegistrations(r.domain, a, r.t.pinned, c.Arena, c.CopyBelow); err != nil {
		return err
	}
	// The factor is 2, because two ranks may have two connections for a short time: the connection
	// that was lost at one end, and the connection that replaces it.
	most := min(2*peers*(m.slots+credit.Reserve)+sides, r.pool.Most()+peers*credit.Reserve+sides, a.MaxSharedReceives)
	if r.receives, err = newReceives(r.adapter, r.domain, slot, most); err != nil {
		return err
	}
	r.sends = newSendMemory(r.adapter, r.domain, slot)
	r.receives.domain, r.sends.domain = r.registered, r.registered
	perLink := r.attributes.MaxRequests + linkEvents
	rest := most + backlog + adapterEvents
	entries := min(rest+(peers+spareLinks+r.sidesMax)*perLink, a.MaxCompletions)
	r.linksMax = max((entries-rest)/perLink-r.sidesMax, 1)
	r.sidesMax = max(min(r.sidesMax, (entries-rest)/perLink-r.linksMax), 0)
	if r.queue, err = r.adapter.NewCompletionQueue(entries); err != nil {
		return err
	}
	if err = r.adapter.Watch(r.queue); err != nil {
		return err
	}
	r.listener, err = r.adapter.Listen(verbs.ListenOptions{Address: r.config.Listen, Queue: r.queue, Backlog: backlog})
	return err
}

const (
	// backlog is the maximum number of connection requests that wait for an answer.
	backlog = 64
	// spareLinks is the number of connections in addition to one connection for each peer. They are
	// for connections that were lost at one end and are being replaced.
	spareLinks = 16
	// adapterEvents is the number of queue entries for events of the adapter as a whole.
	adapterEvents = 16
)

// name returns the name of the rail in the log and in Explain.
func (r *rail) name() string { return r.limits.Interface }

// granted returns the number of receives that the rail's connections need.
func (r *rail) granted() int { return r.pool.Bytes()/r.pool.Slot() + r.sides*credit.Reserve }

// counter returns the counter in which a link is counted, and the maximum of the counter.
func (r *rail) counter(l *link) (count *int, most int) {
	if l.purpose == negotiation.Bulk {
		return &r.sides, r.sidesMax
	}
	return &r.links, r.linksMax
}

// location returns the Location of the rail, which peers need to connect to it.
func (r *rail) location() Location {
	return Location{Rail: r.index, Fabric: r.config.Fabric, Address: r.listener.Address()}
}

// flags returns the flags of a work request. During Poll and begin the result is FlagMore, so that
// the adapter may hold the request back, at most until begin calls Adapter.Begin.
func (r *rail) flags() verbs.RequestFlags {
	b := &r.t.batches
	if !r.t.reading && !b.beginning {
		return 0
	}
	b.held, r.held = true, true
	return verbs.FlagMore
}

// recycle posts a receive again, or makes it spare if fewer receives are needed.
func (r *rail) recycle(slot uint32) {
	if err := r.receives.recycle(slot); err != nil {
		// The queue has room for the slot, because the slot was posted before. So only an adapter
		// that has failed refuses the slot, and the error of the queue reports this failure.
		r.receives.active--
	}
}

// out returns the reason why no connection is made on the rail, or nil if connections may be made.
// Any goroutine may call it.
func (r *rail) out() error {
	if at := r.fault.Load(); at != nil {
		return *at
	}
	return nil
}

// errPortDown is the fault of a rail whose adapter has reported that its port is down.
var errPortDown = errors.New("its port is down")

// happened handles the events of the adapter as a whole that concern its port. It ignores the other
// events: removeFailed handles the removal of the adapter, and the connections report the effects of
// changed addresses.
func (r *rail) happened(e *verbs.Event) {
	switch e.Type {
	case verbs.EventPortDown:
		again := r.down != nil
		r.down = withCause(errPortDown, e.Err)
		// Without another working rail, the connections are kept: they may survive.
		if slices.ContainsFunc(r.t.polled, func(o *rail) bool { return o != r && o.out() == nil }) {
			r.takeOut(r.down)
		} else if !again {
			r.t.log.Log(fmt.Sprintf("rdma: adapter %s: %v; its connections are kept, because no other adapter works", r.name(), r.down))
		}
	case verbs.EventPortUp:
		if r.down != nil && !r.removed {
			r.down = nil
			r.fault.Store(nil)
			r.t.log.Log(fmt.Sprintf("rdma: adapter %s: its port is up again", r.name()))
			for _, o := range r.t.polled { // the connections of a rail whose port is down were kept for lack of this rail
				if o.down != nil {
					o.takeOut(o.down)
				}
			}
			if r.t.supervision.supervisor != nil {
				r.t.supervision.send(revived{})
			}
		}
	default:
	}
}

// withCause wraps err with its cause, if the cause is known.
func withCause(err, cause error) error {
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// takeOut ends the connections of a rail that has failed, so that they are made again on other
// rails. If the rail was taken out before, takeOut does nothing. So the failure is logged once.
func (r *rail) takeOut(why error) {
	if r.out() != nil {
		return
	}
	r.fault.Store(&why)
	t := r.t
	t.log.Log(fmt.Sprintf("rdma: adapter %s: %v; its connections are made again on other adapters", r.name(), why))
	var failed []*link
	for _, l := range t.links {
		if l.rail == r {
			failed = append(failed, l)
		}
	}
	slices.SortFunc(failed, func(a, b *link) int {
		return cmp.Or(cmp.Compare(a.peer, b.peer), cmp.Compare(a.conn.Number, b.conn.Number))
	})
	for _, l := range failed {
		l.failed(t, fmt.Errorf("adapter %s: %w", r.name(), why))
	}
}

// removeFailed removes the rails whose adapters have failed. If only one rail is left and its adapter has
// failed, removeFailed keeps this rail and returns the adapter's error.
func (t *Transport) removeFailed() error {
	for _, r := range t.polled { // remove does not change this slice, but replaces it
		if err := r.queue.Err(); err != nil && !r.remove(err) {
			return err
		}
	}
	return nil
}

// remove ends the use of a rail whose adapter is gone. If no other rail is left, remove does nothing
// and returns false.
func (r *rail) remove(why error) bool {
	t := r.t
	if len(t.polled) == 1 {
		return false
	}
	r.removed = true
	r.fault.Store(nil) // takeOut does nothing if a fault is stored, for example that of a port that went down
	r.takeOut(why)
	t.polled = slices.DeleteFunc(slices.Clone(t.polled), func(p *rail) bool { return p == r })
	t.polled[0].pace.companion = t.config.Companion
	r.registered.close()
	// A goroutine closes the adapter. The kernel removes the device only when all its objects are
	// closed, and closing them may take a long time.
	t.closing.Go(func() {
		_ = r.adapter.Close() // an error means that the device is gone
	})
	return true
}

// arm arranges that ring is called when a completion or an event arrives on any rail. If one has
// already arrived, arm returns false, and no rail is armed.
func (t *Transport) arm(ring func()) bool {
	for i, r := range t.polled {
		r.adapter.Progress() // Progress may add completions to the queue
		if !r.queue.Arm(ring) {
			for _, armed := range t.polled[:i] {
				armed.queue.Disarm()
			}
			return false
		}
	}
	return true
}
