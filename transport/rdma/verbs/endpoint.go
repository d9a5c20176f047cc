package verbs

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// EndpointConfig holds the parameters of NewEndpoint (dat_ep_create(3DAT)).
type EndpointConfig struct {
	// Domain is required.
	Domain *ProtectionDomain
	// Receives, Requests and Connections are the completion queues for the entries of the endpoint:
	// completions of receives, completions of requests, and connection events. If one of the queues
	// is nil, its entries are discarded.
	Receives, Requests, Connections *CompletionQueue
	// SharedReceives replaces the endpoint's own receive queue if it is not nil.
	SharedReceives *SharedReceiveQueue
	// Guarded is true if the remote side must first prove that it is a legitimate peer. Until
	// Endpoint.Trust is called, an active endpoint accepts no messages, Reads or Writes from the
	// remote side, and a passive endpoint accepts only a single Send, and Reads and Writes of length
	// 0, which access no memory. Adapters whose queue pairs do not implement provider.Guard ignore
	// Guarded.
	Guarded bool
	// Attributes are the requested attributes. If Attributes is nil, the endpoint gets the defaults
	// of the adapter (Attributes.Endpoint of the adapter). Query returns the attributes that the
	// endpoint has, and Modify changes them.
	Attributes *EndpointAttributes
}

// Endpoint is one end of a connection. An endpoint is made before its connection. Type State lists
// the states of an endpoint, and docs/connection-model.md their transitions. Every method is safe
// for concurrent use. If at most one of several concurrent calls can succeed, the other calls fail
// with ErrInvalidState.
type Endpoint struct {
	adapter    *Adapter
	config     EndpointConfig
	attributes EndpointAttributes
	queuePair  provider.QueuePair
	sends      sendQueue
	receives   receiveQueue

	state State
	// local and remote are the addresses of the two ends. in is the IRD. out is the ORD. in and out
	// are DepthDefault before Connect or Accept, have the requested values until the connection is
	// established, and then have the final values.
	local, remote netip.AddrPort
	in, out       int
	// listener is the reserved service point for which the endpoint is reserved, or nil.
	listener *Listener
	// active is true if the last connection attempt was a Connect. flags are the flags of this
	// Connect.
	active bool
	flags  ConnectFlags
	// deadline and deadlineIndex are written only by the methods of deadlines.
	deadline      time.Time
	deadlineIndex int
	// deferred holds the actions that settle still has to do.
	deferred      deferral
	disconnecting bool
	// held is true while the endpoint is in Adapter.later.
	held bool
}

// deferral is a set of actions that have to wait until no upcall runs.
type deferral uint8

const (
	deferDisconnect deferral = 1 << iota // disconnect gracefully if the send queue is empty
	deferLost                            // end the endpoint, because its completion queue is dead
)

// transfers reports whether data may move in this state.
func (s State) transfers() bool { return s == StateConnected || s == StateDisconnectPending }

// NewEndpoint makes an endpoint in StateUnconnected. Its errors are:
//   - ErrInvalidHandle: if the adapter is closed or has failed, if the domain is missing, or if the
//     domain or a queue was freed or belongs to another adapter;
//   - ErrModelNotSupported: if the adapter does not have the service or the QoS;
//   - ErrInvalidParameter: if an attribute is out of range, if the shared receive queue belongs to
//     another domain, or if streams with these completion flags may not share a queue;
//   - ErrInsufficientResources: if the device refuses the endpoint.
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

// adopt validates a configuration and makes a queue pair from it. The new configuration and queue
// pair replace the endpoint's former configuration and queue pair, if it had them. If adopt fails,
// the endpoint is unchanged.
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

// newQueuePair makes a queue pair, and lowers attributes to the values that the device grants. It
// fails if the posted receives do not fit the granted attributes.
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
		return nil, fmt.Errorf("%w: the device grants %d receives of %d segments each, and %d receives of up to %d segments are posted",
			ErrInsufficientResources, attributes.MaxReceives, attributes.MaxReceiveSegments, ep.receives.len(), ep.attributes.MaxReceiveSegments)
	}
	return queuePair, nil
}

// check validates the domain and the queues of the configuration for use on an adapter.
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

// feed adds n to the counts of the streams that feed the endpoint's completion queues. n is 1 or
// -1.
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

// legal reports whether the rules of type feeds hold for each completion queue of the endpoint.
func (c *EndpointConfig) legal() bool {
	for _, q := range []*CompletionQueue{c.Receives, c.Requests, c.Connections} {
		if q != nil && !q.feeds.legal() {
			return false
		}
	}
	return true
}

// use adds n to the counts of users of the domain and of the shared receive queue. n is 1 or -1.
func (c *EndpointConfig) use(n int) {
	c.Domain.users += n
	if c.SharedReceives != nil {
		c.SharedReceives.users += n
	}
}

// holds reports whether the posted receives fit a new configuration.
func (ep *Endpoint) holds(c *EndpointConfig, a *EndpointAttributes) bool {
	posted := ep.receives.len()
	if posted == 0 {
		return true
	}
	return c.SharedReceives == nil && c.Domain == ep.config.Domain && posted <= a.MaxReceives &&
		a.MaxReceiveSegments >= ep.attributes.MaxReceiveSegments
}

// resize resizes the work queues for a new configuration. Posted receives stay posted.
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

// err makes the error of an operation on the endpoint. The caller holds the lock.
func (ep *Endpoint) err(op string, cause error) error {
	peer := ""
	if ep.remote.IsValid() {
		peer = ep.remote.String()
	}
	return newError(op, ep.adapter.provider, peer, cause)
}

// lock locks the endpoint's adapter. If the endpoint is nil or freed, lock returns an error and
// leaves the adapter unlocked.
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

// valid reports whether the endpoint can be used on adapter a, whose lock the caller holds.
func (ep *Endpoint) valid(a *Adapter) bool { return ep.adapter == a && ep.state != StateFreed }

// later adds an action to deferred. settle does the action when no upcall runs.
func (ep *Endpoint) later(what deferral) {
	if ep.deferred == 0 {
		ep.adapter.deferred = append(ep.adapter.deferred, ep)
	}
	ep.deferred |= what
}

// settle does the deferred actions.
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
