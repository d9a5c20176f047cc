package verbs

import (
	"fmt"
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// ConnectionRequest is a request that has reached a Listener (DAT_CR). At most one Accept or Reject
// succeeds. After that, every call fails with ErrInvalidHandle. If the active side has already ended its
// attempt, Accept still succeeds, and EventAcceptCompletionError follows. A ConnectionRequest is
// safe for concurrent use.
type ConnectionRequest struct {
	listener      *Listener
	handshake     provider.Handshake
	local, remote netip.AddrPort
	// proposal holds the values that the peer has sent, as seen from the peer.
	proposal provider.Proposal
	// endpoint is the endpoint that the request carries, or nil (see ListenOptions.Endpoint).
	endpoint *Endpoint
	answered bool
}

// RequestInfo is the result of ConnectionRequest.Query (dat_cr_query(3DAT)).
type RequestInfo struct {
	// Local is the address at which the request arrived. Remote is the address from which the
	// request came. The port of Remote is the active side's port qualifier.
	Local, Remote netip.AddrPort
	// Endpoint is the endpoint that the request carries, or nil (see ListenOptions.Endpoint).
	Endpoint *Endpoint
	// Param holds the proposed values, as seen from this side. ResponderResources is the number of
	// Reads of this side's memory that the peer wants to have in flight (the peer's InitiatorDepth).
	// InitiatorDepth is the number of Reads that the peer allows this side to have in flight (the
	// peer's ResponderResources). Both are DepthDefault if the transport does not carry them.
	// Depths that exceed the adapter's limits are lowered to these limits. PrivateData may have zeros at
	// its end that the peer did not send. The consumer can pass Param to Accept after it has replaced
	// PrivateData.
	Param ConnParam
	QoS   QoS
}

// lock acquires the lock of the adapter. If the request is nil or was already answered, lock returns an
// error and leaves the adapter unlocked.
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

// Query returns the contents of the request.
func (r *ConnectionRequest) Query() (RequestInfo, error) {
	if err := r.lock("query request"); err != nil {
		return RequestInfo{}, err
	}
	defer r.listener.adapter.unlock()
	p, l := &r.proposal, &r.listener.adapter.limits
	return RequestInfo{
		Local: r.local, Remote: r.remote, Endpoint: r.endpoint, QoS: p.QoS,
		Param: ConnParam{
			PrivateData:        append([]byte{}, p.PrivateData...),
			ResponderResources: min(p.InitiatorDepth, l.MaxReadsIn), InitiatorDepth: min(p.ResponderResources, l.MaxReadsOut),
			FlowControl: p.FlowControl, RetryCount: p.RetryCount, RNRRetryCount: p.RNRRetryCount,
		},
	}, nil
}

// Accept connects the requesting endpoint with a local endpoint (dat_cr_accept(3DAT),
// rdma_accept(3)). The local endpoint is ep. If the request carries an endpoint, ep must be nil,
// and the local endpoint is the endpoint of the request. The endpoint is in StateCompletionPending
// until EventEstablished or EventAcceptCompletionError comes. After EventAcceptCompletionError the
// endpoint is in StateDisconnected, and its receives are flushed.
//
// If p is nil, the answer has no private data and repeats the RNR retry count of the request. Its
// depths are the proposed depths, lowered to the endpoint's attributes and the adapter's limits. If a
// depth in p is DepthDefault, the proposed depth is used and lowered in the same way. If InitiatorDepth
// is greater than the proposed value, Accept fails with ErrInvalidParameter. If ResponderResources is
// less than the proposed value, the peer may have only this smaller number of Reads in flight.
//
// Accept fails with ErrInvalidHandle if ep is nil and the request has no endpoint, or if ep is
// freed or belongs to another adapter. It fails with ErrInvalidState if ep is not in
// StateUnconnected. It fails with ErrInvalidParameter if the private data is too long, if values
// are out of range, or if ep is given and the request has an endpoint. If Accept fails, the request
// and the endpoint are unchanged. The request can still be rejected, or accepted with this or
// another endpoint.
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
	chosen.state, chosen.active = StateCompletionPending, false
	chosen.local, chosen.remote = r.local, r.remote
	chosen.in, chosen.out = answer.ResponderResources, answer.InitiatorDepth
	r.handshake.Accept(chosen.queuePair, &answer)
	return nil
}

// prepare chooses the endpoint and computes the answer. It does not change the request or the
// endpoint.
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

// accepted returns the depth with which one direction is accepted. There are three cases:
//   - The consumer has given an explicit depth. The result is this depth, lowered to the depth that
//     the peer has proposed, if the peer's depth is known. The reason is that the answer on the wire
//     must not exceed the depth that the peer can use (RFC 6581 section 9.1).
//   - Only the proposed depth is known. The result is the proposed depth, lowered to the endpoint's
//     attribute and to the argument limit.
//   - Neither depth is known. The result is the endpoint's attribute, lowered to limit. If the
//     attribute is DepthDefault, the argument named otherwise replaces the attribute.
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

// end removes the request from the adapter, because the request is answered.
func (r *ConnectionRequest) end() {
	r.answered = true
	r.listener.unanswered--
	delete(r.listener.adapter.requests, r)
}

// Reject rejects the connection request (dat_cr_reject(3DAT)). The peer gets EventPeerRejected with
// the private data. If the request carries an endpoint, the endpoint returns to StateUnconnected.
// If the private data is too long, Reject fails with ErrInvalidParameter, and the request is
// unchanged.
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
	if ep := r.endpoint; ep != nil && ep.state == StatePassiveConnectionPending {
		ep.state = StateUnconnected
	}
	r.handshake.Reject(privateData)
	return nil
}
