package verbs

import (
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// EndpointInfo is the result of Endpoint.Query (dat_ep_query(3DAT)).
type EndpointInfo struct {
	State  State
	Config EndpointConfig
	// Attributes are the attributes that the endpoint has. ReadsIn and ReadsOut have their final
	// values when the endpoint is connected.
	Attributes EndpointAttributes
	// Local and Remote are the addresses of the two ends, as far as they are known.
	Local, Remote netip.AddrPort
	// Explained is a remark of the provider, for people, on the data that were sent so far, for
	// example how much was compressed. It is empty if the provider has no remark.
	Explained string
}

// EndpointStatus is the result of Endpoint.Status (dat_ep_get_status(3DAT)).
type EndpointStatus struct {
	State State
	// ReceiveIdle is true if no posted receive is outstanding. Receives of a shared receive queue
	// are not considered. RequestIdle is true if no posted request is outstanding.
	ReceiveIdle, RequestIdle bool
}

// Query returns the endpoint's state, configuration, attributes and addresses.
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

// Status returns the state of the endpoint and whether its work queues are idle.
func (ep *Endpoint) Status() (EndpointStatus, error) {
	if err := ep.lock("status"); err != nil {
		return EndpointStatus{State: StateFreed}, err
	}
	defer ep.adapter.unlock()
	return EndpointStatus{State: ep.state, ReceiveIdle: ep.receives.len() == 0, RequestIdle: ep.sends.Len() == 0}, nil
}

// Parameters selects the fields of EndpointConfig that Modify changes.
type Parameters uint8

// The parameters that can be modified. No other property of an endpoint can be modified.
const (
	ParamDomain Parameters = 1 << iota
	ParamReceives
	ParamRequests
	ParamConnections
	ParamSharedReceives
	ParamAttributes

	paramAll = ParamDomain | ParamReceives | ParamRequests | ParamConnections | ParamSharedReceives | ParamAttributes
)

// Modify sets the selected parameters of the endpoint (dat_ep_modify(3DAT)). The second argument
// holds the new values. The domain can be changed only in StateUnconnected. The other parameters
// can also be changed in StateReserved and StatePassiveConnectionPending, that is, until Connect or
// Accept. Posted receives stay posted. If the posted receives do not fit the new parameters, Modify
// fails with ErrInvalidState. If Modify fails, the endpoint is unchanged. Modify exists only
// because the manual pages of uDAPL define it (see doc.go).
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

// Reset returns the endpoint from StateDisconnected to StateUnconnected (dat_ep_reset(3DAT)). In
// StateUnconnected it does nothing. Reset does not remove entries from the completion queues.
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

// Trust ends the guard of EndpointConfig.Guarded for the established connection. The consumer calls
// it when the remote side has proved that it is a legitimate peer. From the next progress of the
// adapter on, the endpoint accepts all messages, Reads and Writes of the peer, including those that
// the peer has already sent. If no connection is established, Trust does nothing.
func (ep *Endpoint) Trust() {
	ep.adapter.mu.Lock()
	defer ep.adapter.unlock()
	if g, ok := ep.queuePair.(provider.Guard); ok && ep.state.transfers() {
		g.Trust()
	}
}

// Worn reports whether the established connection is encrypted and has carried so much data under
// its keys that a new connection should replace it. The consumer has to make the new connection:
// the endpoint does not replace its connection by itself.
func (ep *Endpoint) Worn() bool {
	ep.adapter.mu.Lock()
	defer ep.adapter.unlock()
	w, ok := ep.queuePair.(provider.Wearer)
	return ok && ep.state.transfers() && w.Worn()
}

// Free ends the endpoint (dat_ep_free(3DAT)). A connection or a connection attempt ends
// abruptly and without an event. Posted requests and receives are flushed. Free fails with
// ErrInvalidState in StateReserved, where the listener must be closed first, and in
// StatePassiveConnectionPending, where the request must be rejected first. A second Free does
// nothing.
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
