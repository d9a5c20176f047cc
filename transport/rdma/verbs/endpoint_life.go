package verbs

import (
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// EndpointInfo is what Query returns (dat_ep_query(3DAT)).
type EndpointInfo struct {
	State  State
	Config EndpointConfig
	// Attributes are those in force. ReadsIn and ReadsOut are final once the endpoint
	// is connected.
	Attributes EndpointAttributes
	// Local and Remote are the two ends, as far as they are known.
	Local, Remote netip.AddrPort
	// Explained is what the provider says of what was sent so far, "" if nothing.
	Explained string
}

// EndpointStatus is what Status returns (dat_ep_get_status(3DAT)).
type EndpointStatus struct {
	State State
	// ReceiveIdle and RequestIdle say that nothing posted is unfinished. Receives of a
	// shared queue do not count.
	ReceiveIdle, RequestIdle bool
}

// Query returns everything about the endpoint.
func (ep *Endpoint) Query() (EndpointInfo, error) {
	if err := ep.lock("query"); err != nil {
		return EndpointInfo{}, err
	}
	defer ep.adapter.unlock()
	i := EndpointInfo{State: ep.state, Config: ep.config, Attributes: ep.attributes, Local: ep.local, Remote: ep.remote}
	if ep.in != DepthDefault {
		i.Attributes.ReadsIn = ep.in
	}
	if ep.out != DepthDefault {
		i.Attributes.ReadsOut = ep.out
	}
	if x, ok := ep.queuePair.(provider.Explainer); ok {
		i.Explained = x.Explain()
	}
	attributes := i.Attributes
	i.Config.Attributes = &attributes
	return i, nil
}

// Status returns the state of the endpoint and of its queues.
func (ep *Endpoint) Status() (EndpointStatus, error) {
	if err := ep.lock("status"); err != nil {
		return EndpointStatus{State: StateFreed}, err
	}
	defer ep.adapter.unlock()
	return EndpointStatus{State: ep.state, ReceiveIdle: ep.receives.len() == 0, RequestIdle: ep.sends.Len() == 0}, nil
}

// Parameters selects what Modify changes.
type Parameters uint8

// The parameters that can be modified. The rest of an endpoint cannot.
const (
	ParamDomain Parameters = 1 << iota
	ParamReceives
	ParamRequests
	ParamConnections
	ParamSharedReceives
	ParamAttributes

	paramAll = ParamDomain | ParamReceives | ParamRequests | ParamConnections | ParamSharedReceives | ParamAttributes
)

// Modify changes parameters of the endpoint (dat_ep_modify(3DAT)): the domain in
// StateUnconnected, the others also in StateReserved and
// StatePassiveConnectionPending, that is until Connect or Accept. Receives that are
// posted stay; a change that has no place for them is ErrInvalidState. When it fails
// nothing has changed. Of the pages: only verbstest calls it.
func (ep *Endpoint) Modify(which Parameters, to EndpointConfig) error {
	const op = "modify"
	if err := ep.lock(op); err != nil {
		return err
	}
	defer ep.adapter.unlock()
	if which == 0 || which&^paramAll != 0 || which&ParamAttributes != 0 && to.Attributes == nil {
		return ep.err(op, ErrInvalidParameter)
	}
	quiescent := ep.state == StateUnconnected
	early := quiescent || ep.state == StateReserved || ep.state == StatePassiveConnectionPending
	if !early || which&ParamDomain != 0 && !quiescent {
		return ep.err(op, ErrInvalidState)
	}
	c := ep.config
	attributes := ep.attributes
	c.Attributes = &attributes
	if which&ParamDomain != 0 {
		c.Domain = to.Domain
	}
	if which&ParamReceives != 0 {
		c.Receives = to.Receives
	}
	if which&ParamRequests != 0 {
		c.Requests = to.Requests
	}
	if which&ParamConnections != 0 {
		c.Connections = to.Connections
	}
	if which&ParamSharedReceives != 0 {
		c.SharedReceives = to.SharedReceives
	}
	if which&ParamAttributes != 0 {
		attributes = *to.Attributes
	}
	if err := ep.adopt(c); err != nil {
		return ep.err(op, err)
	}
	return nil
}

// Reset leads from StateDisconnected back to StateUnconnected (dat_ep_reset(3DAT)).
// In StateUnconnected it does nothing. Completions that are queued stay there.
func (ep *Endpoint) Reset() error {
	const op = "reset"
	if err := ep.lock(op); err != nil {
		return err
	}
	defer ep.adapter.unlock()
	switch ep.state {
	case StateUnconnected:
		return nil
	case StateDisconnected:
	default:
		return ep.err(op, ErrInvalidState)
	}
	c := ep.config
	attributes := ep.attributes
	c.Attributes = &attributes
	if err := ep.adopt(c); err != nil {
		return ep.err(op, err)
	}
	ep.state, ep.disconnecting = StateUnconnected, false
	ep.local, ep.remote = netip.AddrPort{}, netip.AddrPort{}
	ep.in, ep.out = DepthDefault, DepthDefault
	return nil
}

// Trust ends what EndpointConfig.Guarded began, for the connection that stands: the peer has
// proved what it is. What it has sent is taken from the next progress on. Elsewhere it does
// nothing.
func (ep *Endpoint) Trust() {
	ep.adapter.mu.Lock()
	defer ep.adapter.unlock()
	if g, ok := ep.queuePair.(provider.Guard); ok && ep.state.transfers() {
		g.Trust()
	}
}

// Worn says that the connection that stands is encrypted and has carried so much under its keys
// that another one should take its place. Nothing happens by itself.
func (ep *Endpoint) Worn() bool {
	ep.adapter.mu.Lock()
	defer ep.adapter.unlock()
	w, ok := ep.queuePair.(provider.Wearer)
	return ok && ep.state.transfers() && w.Worn()
}

// Free ends the endpoint (dat_ep_free(3DAT)). A connection or an attempt ends
// abruptly, without an event; what is posted is flushed. It is ErrInvalidState in
// StateReserved and in StatePassiveConnectionPending: close the listener or reject
// the request first. A second Free does nothing.
func (ep *Endpoint) Free() error {
	const op = "free"
	if ep == nil {
		return &OpError{Op: op, Fault: ErrInvalidHandle}
	}
	a := ep.adapter
	a.mu.Lock()
	defer a.unlock()
	switch ep.state {
	case StateFreed:
		return nil
	case StateReserved, StatePassiveConnectionPending:
		return ep.err(op, ErrInvalidState)
	default:
	}
	a.deadlines.remove(ep)
	ep.queuePair.Close()
	ep.flush()
	ep.state = StateFreed
	ep.config.feed(&ep.attributes, -1)
	ep.config.use(-1)
	delete(a.endpoints, ep)
	return nil
}
