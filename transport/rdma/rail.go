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

// FabricTCP is the fabric of iWARP over TCP, in which every rank has a rail.
const FabricTCP = "tcp"

// Rail says what to open for one rail: an adapter and the fabric that it is in.
type Rail struct {
	// Provider and Interface say what to open; Listen is where to listen there, the
	// zero value being any free port of the interface's own address.
	Provider  verbs.Provider
	Interface string
	Listen    netip.AddrPort
	// Fabric names what connects the adapter with others: connections are asked for between
	// rails whose fabrics have the same name. "" is FabricTCP.
	Fabric string
	// Optional says that the rank does without the adapter when it cannot be opened, which
	// Explain says.
	Optional bool
}

// Location is where a rail of a rank listens.
type Location struct {
	// Rail is the number of the rail among those of its rank.
	Rail uint8
	// Fabric is that of the rail, Address where it listens.
	Fabric  string
	Address netip.AddrPort
}

// railsMax is the number of rails that a Location, a key and a record can say.
const railsMax = 256

// rail is an open adapter and what is made of it. Per transport there are the lanes
// (endpoint) with their sequence numbers and windows' accounts, the actors, and the size of
// a receive, which is the same on all rails, so that a frame that was built for one fits
// every other. Per link there are the endpoint of verbs, the window, and the control frames.
type rail struct {
	t      *Transport
	index  uint8
	config Rail
	// encrypted says that its connections are.
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

	// links counts the connections and attempts that are open, of linksMax.
	links, linksMax int
	// sides counts the side connections that are open beside them, of sidesMax.
	sides, sidesMax int
	pace            pace
	// skipped says that the pace passes over this Poll.
	skipped bool
	// held says that requests wait for Adapter.Begin.
	held bool
	// fault is why no connection is made here, nil when one may be. Poll sets it, actors
	// read it.
	fault atomic.Pointer[error]
	// removed says that the adapter is gone for good.
	removed bool
}

// openRail opens the adapter of a rail.
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
	if a := &r.limits; a.MaxSharedReceives == 0 || a.WaitsForReceive && a.MaxRequestData < negotiation.Size {
		_ = r.adapter.Close() // nothing was made of it
		return nil, fmt.Errorf("%w: %s has no shared receive queues", transport.ErrNotSupported, a.Provider)
	}
	return r, nil
}

// prepare makes everything of a rail that needs no peer, for receives of a size that all
// rails have.
func (r *rail) prepare(slot int) error {
	c, a, m := &r.t.config, &r.limits, &r.t.measure
	peers := max(c.Size-1, 1)
	r.pool = credit.NewPool(peers, slot)
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
	// A pair may have two connections for a moment: the one that was lost at one end
	// and the one that replaces it.
	if r.t.stripes && r.striped() {
		r.sidesMax = min(sidesMost, 2*peers)
	}
	most := min(2*peers*(m.slots+credit.Reserve)+r.sidesMax*credit.Reserve, credit.BudgetBytes/slot+(peers+r.sidesMax)*credit.Reserve, a.MaxSharedReceives)
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
	// backlog is the number of requests that may wait for their answer.
	backlog = 64
	// spareLinks is the number of connections beyond one for each peer: those that were
	// lost at one end and are being replaced.
	spareLinks = 16
	// adapterEvents is the room in the queue for what happens to the adapter as a whole.
	adapterEvents = 16
)

// name is what the log and Explain call the rail.
func (r *rail) name() string { return r.limits.Interface }

// granted is the number of receives that connections need.
func (r *rail) granted() int { return r.pool.Bytes()/r.pool.Slot() + r.sides*credit.Reserve }

// counter is where connections like a link are counted, and how many there may be.
func (r *rail) counter(l *link) (count *int, most int) {
	if l.purpose == negotiation.Bulk {
		return &r.sides, r.sidesMax
	}
	return &r.links, r.linksMax
}

// location is what peers are to know of the rail.
func (r *rail) location() Location {
	return Location{Rail: r.index, Fabric: r.config.Fabric, Address: r.listener.Address()}
}

// flags returns the flags of a request: FlagMore if it begins later.
func (r *rail) flags() verbs.RequestFlags {
	b := &r.t.batches
	if !r.t.reading && !b.beginning {
		return 0
	}
	b.held, r.held = true, true
	return verbs.FlagMore
}

// recycle posts a receive again.
func (r *rail) recycle(slot uint32) {
	if err := r.receives.recycle(slot); err != nil {
		// The slot is among those that were posted, so only a dead adapter refuses it,
		// which the queue's error says.
		r.receives.active--
	}
}

// out says why no connection is made on the rail, nil when one may be. Any goroutine may
// call it.
func (r *rail) out() error {
	if at := r.fault.Load(); at != nil {
		return *at
	}
	return nil
}

// errPortDown is why a rail is not used whose adapter says so.
var errPortDown = errors.New("its port is down")

// happened deals with an event of the adapter as a whole. What else its provider reports
// shows in connections.
func (r *rail) happened(e *verbs.Event) {
	switch e.Type {
	case verbs.EventPortDown:
		if len(r.t.polled) > 1 { // else what is connected may survive it
			r.takeOut(withCause(errPortDown, e.Err))
		}
	case verbs.EventPortUp:
		if r.out() != nil && !r.removed {
			r.fault.Store(nil)
			r.t.log.Log(fmt.Sprintf("rdma: adapter %s: its port is up again", r.name()))
			if r.t.supervision.supervisor != nil {
				r.t.supervision.send(revived{})
			}
		}
	default:
	}
}

// withCause is an error with what is behind it, if that is known.
func withCause(err, cause error) error {
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// takeOut ends the connections of a rail that has failed, so that they are made again on
// others, and logs it once.
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

// remove ends the use of a rail whose adapter is gone. It returns false when it was the
// last one.
func (r *rail) remove(why error) bool {
	t := r.t
	if len(t.polled) == 1 {
		return false
	}
	r.removed = true
	r.fault.Store(nil) // a port that was down is not what counts now
	r.takeOut(why)
	t.polled = slices.DeleteFunc(slices.Clone(t.polled), func(p *rail) bool { return p == r })
	t.polled[0].pace.companion = t.config.Companion
	r.registered.close()
	// The kernel takes the device away when nothing of it is open any more, which may take long.
	t.closing.Go(func() {
		_ = r.adapter.Close() // an error says that the device is gone
	})
	return true
}

// arm has ring called when something arrives on any rail. It returns false, with nothing
// armed, when something is there.
func (t *Transport) arm(ring func()) bool {
	for i, r := range t.polled {
		r.adapter.Progress() // what has arrived may not be queued yet
		if !r.queue.Arm(ring) {
			for _, armed := range t.polled[:i] {
				armed.queue.Disarm()
			}
			return false
		}
	}
	return true
}
