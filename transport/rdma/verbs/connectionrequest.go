package verbs

import (
	"fmt"
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// ConnectionRequest is a request that has reached a Listener (DAT_CR). Exactly one
// Accept or Reject succeeds; every call after it is ErrInvalidHandle. When the active
// side has gone meanwhile, Accept still succeeds and EventAcceptCompletionError
// follows. It is safe for concurrent use.
type ConnectionRequest struct {
	listener      *Listener
	handshake     provider.Handshake
	local, remote netip.AddrPort
	// proposal is the peer's, in its terms.
	proposal provider.Proposal
	// endpoint is the one of a reserved service point, or nil.
	endpoint *Endpoint
	answered bool
}

// RequestInfo is what Query returns (dat_cr_query(3DAT)).
type RequestInfo struct {
	// Local is where the request arrived, Remote where it came from; its port is the
	// active side's port qualifier.
	Local, Remote netip.AddrPort
	// Endpoint is that of a reserved service point, or nil.
	Endpoint *Endpoint
	// Param are the values proposed, seen from this side: ResponderResources is what
	// the peer wants to have under way toward us (its InitiatorDepth), InitiatorDepth
	// what it lets us (its ResponderResources), each DepthDefault where the transport
	// does not carry them. PrivateData may have zeros at its end that the peer did not
	// send. Param, with PrivateData replaced, can be given to Accept.
	Param ConnParam
	QoS   QoS
}

// lock locks the adapter of a request that is not answered, or returns an error.
func (r *ConnectionRequest) lock(op string) error {
	if r == nil {
		return &OpError{Op: op, Fault: ErrInvalidHandle}
	}
	a := r.listener.adapter
	a.mu.Lock()
	if r.answered {
		a.mu.Unlock()
		return newError(op, a.provider, r.remote.String(), ErrInvalidHandle)
	}
	return nil
}

// Query returns what the request says.
func (r *ConnectionRequest) Query() (RequestInfo, error) {
	if err := r.lock("query request"); err != nil {
		return RequestInfo{}, err
	}
	defer r.listener.adapter.unlock()
	p := &r.proposal
	return RequestInfo{
		Local: r.local, Remote: r.remote, Endpoint: r.endpoint, QoS: p.QoS,
		Param: ConnParam{
			PrivateData: append([]byte{}, p.PrivateData...), ResponderResources: p.InitiatorDepth, InitiatorDepth: p.ResponderResources,
			FlowControl: p.FlowControl, RetryCount: p.RetryCount, RNRRetryCount: p.RNRRetryCount,
		},
	}, nil
}

// Accept connects the requesting endpoint with a local one (dat_cr_accept(3DAT),
// rdma_accept(3)): with ep, or with the one the request carries, and then ep is nil.
// The endpoint is in StateCompletionPending until EventEstablished or
// EventAcceptCompletionError comes; after the latter it is in StateDisconnected and
// its receives are flushed.
//
// A nil p means no private data and the depths proposed, adjusted down to the
// endpoint's attributes and the adapter's limits; so does DepthDefault. A greater
// InitiatorDepth than proposed is ErrInvalidParameter; a smaller ResponderResources
// lowers what the peer may have under way.
//
// It fails with ErrInvalidHandle (ep is nil and the request has none, or ep is freed
// or of another adapter), ErrInvalidState (ep is not unconnected) or
// ErrInvalidParameter (private data too long, values out of range, ep given although
// the request has one). The request and the endpoint are then as before: the request
// can still be accepted, with another endpoint too, or rejected.
func (r *ConnectionRequest) Accept(ep *Endpoint, p *ConnParam) error {
	const op = "accept"
	if err := r.lock(op); err != nil {
		return err
	}
	a := r.listener.adapter
	defer a.unlock()
	chosen, answer, err := r.prepare(ep, p)
	if err != nil {
		return newError(op, a.provider, r.remote.String(), err)
	}
	r.end()
	chosen.state, chosen.request, chosen.active = StateCompletionPending, nil, false
	chosen.local, chosen.remote = r.local, r.remote
	chosen.in, chosen.out = answer.ResponderResources, answer.InitiatorDepth
	r.handshake.Accept(chosen.queuePair, &answer)
	return nil
}

// prepare chooses the endpoint and computes the answer without any effect.
func (r *ConnectionRequest) prepare(ep *Endpoint, p *ConnParam) (*Endpoint, provider.Proposal, error) {
	a := r.listener.adapter
	l := &a.limits
	var none provider.Proposal
	need := StateUnconnected
	switch {
	case r.endpoint != nil && ep != nil:
		return nil, none, fmt.Errorf("%w: the request has an endpoint", ErrInvalidParameter)
	case r.endpoint != nil:
		ep, need = r.endpoint, StatePassiveConnectionPending
	case ep == nil || !ep.valid(a):
		return nil, none, ErrInvalidHandle
	}
	if ep.state != need {
		return nil, none, fmt.Errorf("%w: endpoint is %v", ErrInvalidState, ep.state)
	}
	if p == nil {
		p = &ConnParam{ResponderResources: DepthDefault, InitiatorDepth: DepthDefault, RNRRetryCount: r.proposal.RNRRetryCount}
	}
	if err := p.check(l, l.MaxAcceptData); err != nil {
		return nil, none, err
	}
	peerIn, peerOut := r.proposal.ResponderResources, r.proposal.InitiatorDepth
	if p.InitiatorDepth != DepthDefault && peerIn != DepthDefault && p.InitiatorDepth > peerIn {
		return nil, none, fmt.Errorf("%w: initiator depth %d, the peer serves %d", ErrInvalidParameter, p.InitiatorDepth, peerIn)
	}
	answer := provider.Proposal{
		PrivateData: p.PrivateData, FlowControl: p.FlowControl, RNRRetryCount: p.RNRRetryCount,
		ResponderResources: accepted(p.ResponderResources, peerOut, ep.attributes.ReadsIn, l.Endpoint.ReadsIn, l.MaxReadsIn),
		InitiatorDepth:     accepted(p.InitiatorDepth, peerIn, ep.attributes.ReadsOut, l.Endpoint.ReadsOut, l.MaxReadsOut),
	}
	return ep, answer, nil
}

// accepted is the depth with which one direction is accepted: as the consumer says, but
// not more than the peer can use, because that is what goes over the wire (RFC 6581
// section 9.1); else what was proposed, adjusted down to the endpoint's attribute and the
// limit.
func accepted(explicit, proposed, attribute, otherwise, limit int) int {
	switch {
	case explicit != DepthDefault && proposed != DepthDefault:
		return min(explicit, proposed)
	case explicit != DepthDefault:
		return explicit
	case proposed == DepthDefault:
		return min(depth(attribute, otherwise, limit), limit)
	}
	return min(depth(attribute, limit), proposed, limit)
}

// end destroys the request.
func (r *ConnectionRequest) end() {
	r.answered = true
	r.listener.unanswered--
	delete(r.listener.adapter.requests, r)
}

// Reject answers that the connection is not wanted (dat_cr_reject(3DAT)); the peer
// sees EventPeerRejected with the private data. An endpoint that the request carries
// is unconnected again. Private data that is too long is ErrInvalidParameter, and the
// request is as before.
func (r *ConnectionRequest) Reject(privateData []byte) error {
	const op = "reject"
	if err := r.lock(op); err != nil {
		return err
	}
	a := r.listener.adapter
	defer a.unlock()
	if err := checkPrivateData(privateData, a.limits.MaxRejectData); err != nil {
		return newError(op, a.provider, r.remote.String(), err)
	}
	r.end()
	if ep := r.endpoint; ep != nil {
		ep.request = nil
		if ep.state == StatePassiveConnectionPending {
			ep.state = StateUnconnected
		}
	}
	r.handshake.Reject(privateData)
	return nil
}
