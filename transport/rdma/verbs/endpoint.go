package verbs

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// EndpointConfig is what an endpoint is made from (dat_ep_create(3DAT)).
type EndpointConfig struct {
	// Domain is required.
	Domain *ProtectionDomain
	// Receives, Requests and Connections take the three event streams of the
	// endpoint. Nil means that the consumer is not interested in that stream.
	Receives, Requests, Connections *CompletionQueue
	// SharedReceives replaces the endpoint's own receives.
	SharedReceives *SharedReceiveQueue
	// Guarded says that the peer has to prove first that it is one: until Trust an active
	// endpoint takes nothing from it, and a passive one nothing but a single Send; neither its
	// Reads nor its Writes. Adapters whose queue pairs are no provider.Guard do not look at it.
	Guarded bool
	// Attributes may be nil for Attributes.Endpoint of the adapter. Query shows what
	// that is; Modify changes it.
	Attributes *EndpointAttributes
}

// Endpoint is one end of a connection, made before the connection. Its states are those of
// State; docs/connection-model.md has the transitions. Every method is safe for concurrent
// use: of calls that exclude each other one succeeds and the others are ErrInvalidState.
type Endpoint struct {
	adapter    *Adapter
	config     EndpointConfig
	attributes EndpointAttributes
	queuePair  provider.QueuePair
	sends      sendQueue
	receives   receiveQueue

	state State
	// local and remote are the two ends; in and out are IRD and ORD, asked and in the
	// end final.
	local, remote netip.AddrPort
	in, out       int
	// request is the one that carries this endpoint, listener the reserved service
	// point it belongs to.
	request  *ConnectionRequest
	listener *Listener
	// active says that the last attempt was a Connect, with these flags.
	active bool
	flags  ConnectFlags
	// deadline and deadlineIndex belong to deadlines.
	deadline      time.Time
	deadlineIndex int
	// deferred is what settle has to do.
	deferred      deferral
	disconnecting bool
	// held says that the endpoint is in Adapter.later.
	held bool
}

// deferral is a set of things to do once no upcall is under way.
type deferral uint8

const (
	deferDisconnect deferral = 1 << iota // the send queue is empty: end in order
	deferLost                            // a completion queue overflowed
)

// transfers reports whether data may move.
func (s State) transfers() bool { return s == StateConnected || s == StateDisconnectPending }

// NewEndpoint makes an endpoint in StateUnconnected. It is ErrInvalidHandle when the
// domain or a queue is missing, freed or of another adapter, ErrModelNotSupported
// when the adapter does not have the service or the QoS, ErrInvalidParameter when an
// attribute is out of range or completion flags may not meet in a queue, and
// ErrInsufficientResources when the machine refuses.
func (a *Adapter) NewEndpoint(c EndpointConfig) (*Endpoint, error) {
	const op = "new endpoint"
	a.mu.Lock()
	defer a.unlock()
	if a.closed || a.failure != nil {
		return nil, a.err(op, ErrInvalidHandle)
	}
	ep := &Endpoint{adapter: a, state: StateUnconnected, in: DepthDefault, out: DepthDefault}
	ep.sends.ep, ep.receives.ep, ep.sends.gated = ep, ep, !a.limits.HoldsReads
	if err := ep.adopt(c); err != nil {
		return nil, a.err(op, err)
	}
	a.endpoints[ep] = struct{}{}
	return ep, nil
}

// adopt checks a configuration, makes a queue pair of it and, if that works, takes
// both over. Otherwise nothing has changed.
func (ep *Endpoint) adopt(c EndpointConfig) error {
	a := ep.adapter
	attributes := a.limits.Endpoint
	if c.Attributes != nil {
		attributes = *c.Attributes
	}
	c.Attributes = nil
	if err := c.check(a); err != nil {
		return err
	}
	if err := checkEndpoint(&attributes, &a.limits); err != nil {
		return err
	}
	if !ep.holds(&c, &attributes) {
		return ErrInvalidState
	}
	before, had := ep.config, ep.queuePair != nil
	if had {
		before.feed(&ep.attributes, -1)
	}
	c.feed(&attributes, 1)
	if !c.legal() {
		c.feed(&attributes, -1)
		if had {
			before.feed(&ep.attributes, 1)
		}
		return ErrInvalidParameter
	}
	queuePair, err := ep.newQueuePair(&c, &attributes)
	if err != nil {
		c.feed(&attributes, -1)
		if had {
			before.feed(&ep.attributes, 1)
		}
		return err
	}
	if had {
		ep.queuePair.Close()
		before.use(-1)
	}
	c.use(1)
	ep.resize(&c, &attributes)
	ep.config, ep.attributes, ep.queuePair = c, attributes, queuePair
	if ep.receives.len() > 0 {
		queuePair.ReceivesPosted()
	}
	return nil
}

// newQueuePair makes a queue pair, and the attributes those that are granted.
func (ep *Endpoint) newQueuePair(c *EndpointConfig, attributes *EndpointAttributes) (provider.QueuePair, error) {
	q := provider.QueuePairConfig{
		Domain: c.Domain.domain, Attributes: *attributes, Sends: &ep.sends, Receives: &ep.receives, Upcalls: (*upcalls)(ep),
		Guarded: c.Guarded,
	}
	if c.SharedReceives != nil {
		q.Shared = c.SharedReceives.queue
	}
	queuePair, granted, err := ep.adapter.device.NewQueuePair(q)
	if err != nil {
		return nil, err
	}
	grant(attributes, &granted)
	if !ep.holds(c, attributes) {
		queuePair.Close()
		return nil, fmt.Errorf("%w: %d receives of %d segments are granted, less than is posted", ErrInsufficientResources, granted.MaxReceives, granted.MaxReceiveSegments)
	}
	return queuePair, nil
}

// check finds what is wrong with the handles.
func (c *EndpointConfig) check(a *Adapter) error {
	if !c.Domain.valid(a) || c.SharedReceives != nil && !c.SharedReceives.valid(a) {
		return ErrInvalidHandle
	}
	for _, q := range []*CompletionQueue{c.Receives, c.Requests, c.Connections} {
		if q != nil && !q.valid(a) {
			return ErrInvalidHandle
		}
	}
	if c.SharedReceives != nil && c.SharedReceives.domain != c.Domain {
		return ErrInvalidParameter
	}
	return nil
}

// feed counts the endpoint's streams in its queues.
func (c *EndpointConfig) feed(a *EndpointAttributes, n int) {
	if c.Receives != nil {
		c.Receives.feeds.add(StreamReceive, a.ReceiveFlags, n)
	}
	if c.Requests != nil {
		c.Requests.feeds.add(StreamRequest, a.RequestFlags, n)
	}
	if c.Connections != nil {
		c.Connections.feeds.add(StreamConnection, 0, n)
	}
}

// legal reports whether the streams of all queues may meet there.
func (c *EndpointConfig) legal() bool {
	for _, q := range []*CompletionQueue{c.Receives, c.Requests, c.Connections} {
		if q != nil && !q.feeds.legal() {
			return false
		}
	}
	return true
}

// use counts the endpoint in what it uses.
func (c *EndpointConfig) use(n int) {
	c.Domain.users += n
	if c.SharedReceives != nil {
		c.SharedReceives.users += n
	}
}

// holds reports whether the receives that are posted fit a new configuration.
func (ep *Endpoint) holds(c *EndpointConfig, a *EndpointAttributes) bool {
	posted := ep.receives.len()
	if posted == 0 {
		return true
	}
	return c.SharedReceives == nil && c.Domain == ep.config.Domain && posted <= a.MaxReceives &&
		a.MaxReceiveSegments >= ep.attributes.MaxReceiveSegments
}

// resize makes the work queues fit, keeping the receives that are posted.
func (ep *Endpoint) resize(c *EndpointConfig, a *EndpointAttributes) {
	ep.sends.configure(a)
	old := ep.receives
	if c.SharedReceives != nil {
		ep.receives.configure(0, 0)
		return
	}
	ep.receives.configure(a.MaxReceives, a.MaxReceiveSegments)
	for n := old.head; n != old.tail; n++ {
		r := old.slot(n)
		q := ReceiveRequest{ID: r.id, Segments: r.Segments}
		if r.quiet {
			q.Flags |= FlagQuiet
		}
		if r.Room {
			q.Flags |= FlagRoom
		}
		ep.receives.put(&q, r.Length)
	}
}

// err makes the error of an operation on the endpoint, under the lock.
func (ep *Endpoint) err(op string, cause error) error {
	peer := ""
	if ep.remote.IsValid() {
		peer = ep.remote.String()
	}
	return newError(op, ep.adapter.provider, peer, cause)
}

// lock locks the adapter of an endpoint that can be used, or returns an error.
func (ep *Endpoint) lock(op string) error {
	if ep == nil {
		return &OpError{Op: op, Fault: ErrInvalidHandle}
	}
	ep.adapter.mu.Lock()
	if ep.state != StateFreed {
		return nil
	}
	err := ep.err(op, ErrInvalidHandle)
	ep.adapter.mu.Unlock()
	return err
}

// valid reports whether the endpoint can be used on an adapter whose lock is held.
func (ep *Endpoint) valid(a *Adapter) bool { return ep.adapter == a && ep.state != StateFreed }

// later has settle do something once no upcall is under way.
func (ep *Endpoint) later(what deferral) {
	if ep.deferred == 0 {
		ep.adapter.deferred = append(ep.adapter.deferred, ep)
	}
	ep.deferred |= what
}

// settle does what upcalls have left to do.
func (ep *Endpoint) settle() {
	what := ep.deferred
	ep.deferred = 0
	if what&deferLost != 0 {
		ep.lost(ErrOverflow)
	}
	if what&deferDisconnect != 0 && ep.state == StateDisconnectPending && ep.sends.Len() == 0 && !ep.disconnecting {
		ep.disconnecting = true
		ep.queuePair.Disconnect()
	}
}
