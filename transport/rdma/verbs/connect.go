package verbs

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// Connect requests a connection to the listener at remote (dat_ep_connect(3DAT), rdma_connect(3)).
// Connect also resolves the route. The endpoint must be in StateUnconnected. When Connect returns
// without error, the endpoint is bound to a local port, and in StateActiveConnectionPending until
// an event follows. Unless Free or Adapter.Close ends the attempt, exactly one event follows in the
// queue EndpointConfig.Connections:
//
//	EventEstablished        accepted; the endpoint is connected
//	EventPeerRejected       the remote consumer rejected the request; the event has its private data
//	EventUnreachable        there is no such host, or it did not answer within the timeout
//	EventTimedOut           the host received the request, but the peer did not answer in time
//	EventNonPeerRejected    every other failure, which Event.Err describes
//	EventDisconnected       Disconnect ended the attempt
//	EventBroken             the adapter failed, or a completion queue of the endpoint overflowed,
//	                        during the attempt
//
// After EventEstablished the endpoint is in StateConnected, after EventBroken in StateError, and
// after every other event in StateDisconnected.
//
// The errors of Connect are ErrInvalidHandle, ErrInvalidState, ErrInvalidParameter (timeout not positive, private
// data too long, depths or retry counts out of range), ErrModelNotSupported (QoS, multipath),
// ErrInvalidAddress and ErrInsufficientResources. After an error the endpoint is unchanged, and no
// event follows.
func (ep *Endpoint) Connect(remote netip.AddrPort, o ConnectOptions) error {
	const op = "connect"
	if err := ep.lock(op); err != nil {
		return err
	}
	defer ep.adapter.unlock()
	if err := ep.connect(remote, &o); err != nil {
		return newError(op, ep.adapter.provider, remote.String(), err)
	}
	return nil
}

// DupConnect does the same as Connect, but with the address and the flags of the last Connect of
// another endpoint (dat_ep_dup_connect(3DAT)). The other endpoint must be connected, and must be the
// active side of its connection. DupConnect ignores o.Flags. DupConnect exists only because the manual
// pages of uDAPL define it (see doc.go).
func (ep *Endpoint) DupConnect(other *Endpoint, o ConnectOptions) error {
	const op = "dup connect"
	if err := ep.lock(op); err != nil {
		return err
	}
	defer ep.adapter.unlock()
	switch {
	case other == nil || !other.valid(ep.adapter):
		return ep.err(op, ErrInvalidHandle)
	case other.state != StateConnected || !other.active:
		return ep.err(op, ErrInvalidState)
	}
	o.Flags = other.flags
	if err := ep.connect(other.remote, &o); err != nil {
		return newError(op, ep.adapter.provider, other.remote.String(), err)
	}
	return nil
}

// connect does the work of Connect. The caller holds the lock.
func (ep *Endpoint) connect(remote netip.AddrPort, o *ConnectOptions) error {
	l := &ep.adapter.limits
	p := ConnParam{ResponderResources: DepthDefault, InitiatorDepth: DepthDefault, RetryCount: retryCountMax, RNRRetryCount: retryCountMax}
	if o.Param != nil {
		p = *o.Param
	}
	switch {
	case ep.state != StateUnconnected:
		return fmt.Errorf("%w: endpoint is %v", ErrInvalidState, ep.state)
	case o.Timeout <= 0 || p.RetryCount > retryCountMax:
		return ErrInvalidParameter
	case !slices.Contains(l.QoS, o.QoS), o.Flags&ConnectMultipath != 0 && !l.Multipath:
		return ErrModelNotSupported
	case !remote.IsValid() || remote.Port() == 0 || remote.Addr().IsUnspecified() || remote.Addr().IsMulticast():
		return ErrInvalidAddress
	}
	if err := p.check(l, l.MaxRequestData); err != nil {
		return err
	}
	in := depth(p.ResponderResources, ep.attributes.ReadsIn, l.Endpoint.ReadsIn, l.MaxReadsIn)
	out := depth(p.InitiatorDepth, ep.attributes.ReadsOut, l.Endpoint.ReadsOut, l.MaxReadsOut)
	// The state is set first, because a provider may report a failure from within Connect.
	ep.state, ep.remote, ep.in, ep.out = StateActiveConnectionPending, remote, in, out
	ep.active, ep.flags = true, o.Flags
	local, err := ep.queuePair.Connect(remote, &provider.Proposal{
		PrivateData: p.PrivateData, ResponderResources: in, InitiatorDepth: out, FlowControl: p.FlowControl,
		RetryCount: p.RetryCount, RNRRetryCount: p.RNRRetryCount, QoS: o.QoS,
		Multipath: o.Flags&ConnectMultipath != 0, SameProvider: o.Flags&ConnectSameProvider != 0,
	})
	if err != nil {
		ep.state, ep.remote, ep.in, ep.out = StateUnconnected, netip.AddrPort{}, DepthDefault, DepthDefault
		return err
	}
	if ep.state == StateActiveConnectionPending && o.Timeout != TimeoutInfinite {
		ep.adapter.deadlines.add(ep, time.Now().Add(o.Timeout))
		ep.adapter.nudge()
	}
	if !ep.local.IsValid() {
		ep.local = local
	}
	return nil
}

// timedOut ends an attempt whose deadline has passed. The event is EventUnreachable if the remote
// host has not received the request, and EventTimedOut otherwise.
func (ep *Endpoint) timedOut() {
	t := EventUnreachable
	if ep.queuePair.Contacted() {
		t = EventTimedOut
	}
	ep.queuePair.Abort()
	ep.end(&Event{Type: t})
}

// established implements Upcalls.Established of package provider.
func (ep *Endpoint) established(answer *provider.Proposal, local, remote netip.AddrPort) error {
	active := ep.state == StateActiveConnectionPending
	if !active && ep.state != StateCompletionPending {
		return fmt.Errorf("%w: established while %v", ErrInvalidState, ep.state)
	}
	ep.adapter.deadlines.remove(ep)
	if local.IsValid() {
		ep.local = local
	}
	if remote.IsValid() && !active {
		ep.remote = remote
	}
	e := Event{Type: EventEstablished, PrivateData: []byte{}}
	if active && answer != nil {
		if answer.InitiatorDepth > ep.in {
			ep.end(&Event{Type: EventNonPeerRejected, Err: ErrDepthRefused})
			return ErrDepthRefused
		}
		if answer.ResponderResources != DepthDefault {
			ep.out = min(ep.out, answer.ResponderResources)
		}
		e.PrivateData = append(e.PrivateData, answer.PrivateData...)
	}
	ep.state = StateConnected
	ep.sends.readsMax = ep.out
	e.ResponderResources, e.InitiatorDepth = ep.in, ep.out
	ep.report(&e)
	return nil
}

// failed implements Upcalls.Failed of package provider.
func (ep *Endpoint) failed(why provider.Failure, privateData []byte, err error) {
	e := Event{Type: EventNonPeerRejected, Err: err}
	switch {
	case ep.state == StateCompletionPending:
		e.Type = EventAcceptCompletionError
	case ep.state != StateActiveConnectionPending:
		return
	case why == provider.FailureRejected:
		e.Type = EventPeerRejected
		e.PrivateData = append([]byte{}, privateData...)
	case why == provider.FailureUnreachable:
		e.Type = EventUnreachable
	case why == provider.FailureTimedOut:
		e.Type = EventTimedOut
	}
	ep.end(&e)
}

// ended implements Upcalls.Disconnected and Upcalls.Broken of package provider.
func (ep *Endpoint) ended(t EventType, err error) {
	if ep.state.transfers() {
		ep.end(&Event{Type: t, Err: err})
	}
}

// end moves the endpoint to StateDisconnected, flushes all posted requests and receives, and then
// reports the event.
func (ep *Endpoint) end(e *Event) {
	ep.adapter.deadlines.remove(ep)
	ep.state = StateDisconnected
	ep.flush()
	ep.report(e)
}

// lost moves the endpoint to StateError, because the adapter has failed or a completion queue of the endpoint is dead.
func (ep *Endpoint) lost(err error) {
	switch ep.state {
	case StateError, StateFreed:
		return
	case StateReserved, StatePassiveConnectionPending, StateUnconnected, StateDisconnected:
		if ep.listener != nil { // no connection request of the listener may get this endpoint any more
			ep.listener.endpoint, ep.listener = nil, nil
		}
		ep.queuePair.Abort()
		ep.state = StateError
		ep.flush()
	default:
		ep.queuePair.Abort()
		ep.end(&Event{Type: EventBroken, Err: err})
		ep.state = StateError
	}
}

// flush completes all posted requests and receives with StatusFlushed. A request that has already
// failed keeps its status.
func (ep *Endpoint) flush() {
	ep.receives.flush()
	ep.sends.flush()
}

// report queues a connection event of the endpoint.
func (ep *Endpoint) report(e *Event) {
	e.Endpoint, e.Local, e.Remote = ep, ep.local, ep.remote
	if q := ep.config.Connections; q != nil {
		q.push(&Completion{Endpoint: ep, Stream: StreamConnection, Event: e}, true)
	}
}

// Disconnect ends a connection or an attempt (dat_ep_disconnect(3DAT)).
//
// After a graceful Disconnect of a connected endpoint, no request can be posted any more. The
// connection ends when all requests that were posted before are complete. Until then the endpoint
// is in StateDisconnectPending. The peer gets EventDisconnected.
//
// An abrupt Disconnect of a connected endpoint flushes all posted requests and receives at once. It
// may also follow a graceful Disconnect. The peer gets EventDisconnected or EventBroken.
//
// While a Connect or an Accept is not complete, both kinds of Disconnect end the attempt. In all
// these cases EventDisconnected follows on this side, except that EventBroken follows if the
// connection fails before a graceful Disconnect is complete. After the event the endpoint is in
// StateDisconnected or, if the adapter has failed, in StateError. In StateDisconnected, Disconnect does
// nothing. Before Connect or Accept, and in StateError, Disconnect fails with ErrInvalidState.
func (ep *Endpoint) Disconnect(how CloseFlags) error {
	const op = "disconnect"
	if err := ep.lock(op); err != nil {
		return err
	}
	defer ep.adapter.unlock()
	if how > CloseGraceful {
		return ep.err(op, ErrInvalidParameter)
	}
	switch ep.state {
	case StateDisconnected:
		return nil
	case StateConnected, StateDisconnectPending:
		if how == CloseGraceful {
			if ep.adapter.begin(); !ep.state.transfers() {
				return nil // the connection has ended when a request was started, and its event is queued
			}
			ep.state = StateDisconnectPending
			if ep.later(deferDisconnect); ep.sends.Len() > 0 {
				ep.queuePair.Drain()
			}
			return nil
		}
	case StateActiveConnectionPending, StateCompletionPending:
	default:
		return ep.err(op, fmt.Errorf("%w: endpoint is %v", ErrInvalidState, ep.state))
	}
	ep.queuePair.Abort()
	ep.end(&Event{Type: EventDisconnected})
	return nil
}
