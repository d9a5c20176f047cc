package verbs

import (
	"net/netip"
	"slices"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// backlogDefault is the backlog if ListenOptions.Backlog is 0.
const backlogDefault = 128

// ListenOptions are the parameters of Adapter.Listen.
type ListenOptions struct {
	// Address is the address at which to listen. Port 0 selects any free port. An invalid address
	// selects the adapter's own address.
	Address netip.AddrPort
	// Queue takes the requests (EventConnectionRequest). It is required.
	Queue *CompletionQueue
	// Backlog is the maximum number of unanswered requests. 0 means 128. Further requests are
	// refused (EventNonPeerRejected on the active side).
	Backlog int
	// Endpoint selects the kind of the listener. If Endpoint is nil, the listener is a public
	// service point (dat_psp_create(3DAT)). Otherwise it is a reserved service point
	// (dat_rsp_create(3DAT)), which takes one request. This request carries the endpoint, and Accept
	// then uses this endpoint. The endpoint must be in StateUnconnected, and Listen moves it to
	// StateReserved. Reserved service points exist only because the manual pages of uDAPL define
	// them (see doc.go).
	Endpoint *Endpoint
	// Service must be one of the adapter's services. Today all adapters have only ServiceReliable,
	// and Listen fails with ErrModelNotSupported for any other service.
	Service Service
	// AdapterEndpoints requests that the adapter makes an endpoint for each request of a public
	// service point. No adapter has this feature, so Listen fails with ErrModelNotSupported.
	AdapterEndpoints bool
}

// Listener is a service point: connection requests arrive at its address.
type Listener struct {
	adapter  *Adapter
	queue    *CompletionQueue
	point    provider.ServicePoint
	endpoint *Endpoint // the endpoint of a reserved service point, until its request arrives
	reserved bool
	backlog  int
	// unanswered counts the requests that were queued for the consumer and are not answered yet.
	unanswered int
	closed     bool
}

// Listen opens a service point. Its errors are:
//   - ErrInvalidHandle: if the adapter is closed or has failed, if the queue is missing, or if the
//     queue or the endpoint was freed or belongs to another adapter;
//   - ErrInvalidState: if the endpoint is not in StateUnconnected;
//   - ErrModelNotSupported: see ListenOptions;
//   - ErrInvalidParameter: if the backlog is negative, or if the completion flags of streams that
//     feed the queue do not allow connection requests in the queue;
//   - ErrInvalidAddress: if the address is not an address of the host;
//   - ErrInsufficientResources: if the address is in use.
func (a *Adapter) Listen(o ListenOptions) (*Listener, error) {
	a.mu.Lock()
	defer a.unlock()
	if err := a.checkListen(&o); err != nil {
		return nil, a.listenError(o.Address, err)
	}
	o.Queue.feeds.add(StreamConnectionRequest, 0, 1)
	if !o.Queue.feeds.legal() {
		o.Queue.feeds.add(StreamConnectionRequest, 0, -1)
		return nil, a.listenError(o.Address, ErrInvalidParameter)
	}
	l := &Listener{adapter: a, queue: o.Queue, endpoint: o.Endpoint, reserved: o.Endpoint != nil, backlog: o.Backlog}
	if l.backlog == 0 {
		l.backlog = backlogDefault
	}
	if l.reserved {
		l.backlog = 1
	}
	point, err := a.device.Listen(provider.ServicePointConfig{Address: o.Address, Backlog: l.backlog, Arrived: l.arrived})
	if err != nil {
		o.Queue.feeds.add(StreamConnectionRequest, 0, -1)
		return nil, a.listenError(o.Address, err)
	}
	l.point = point
	a.listeners[l] = struct{}{}
	if l.reserved {
		o.Endpoint.state, o.Endpoint.listener = StateReserved, l
	}
	a.nudge()
	return l, nil
}

// listenError makes the error of Listen. Peer is empty if the consumer has chosen no address.
func (a *Adapter) listenError(at netip.AddrPort, cause error) error {
	peer := ""
	if at.IsValid() {
		peer = at.String()
	}
	return newError("listen", a.provider, peer, cause)
}

// checkListen validates the options.
func (a *Adapter) checkListen(o *ListenOptions) error {
	switch {
	case a.closed || a.failure != nil || o.Queue == nil || !o.Queue.valid(a) || o.Endpoint != nil && !o.Endpoint.valid(a):
		return ErrInvalidHandle
	case o.AdapterEndpoints || !slices.Contains(a.limits.Services, o.Service):
		return ErrModelNotSupported
	case o.Backlog < 0:
		return ErrInvalidParameter
	case o.Endpoint != nil && o.Endpoint.state != StateUnconnected:
		return ErrInvalidState
	}
	return nil
}

// Address returns the address at which the listener listens.
func (l *Listener) Address() netip.AddrPort { return l.point.Address() }

// Close ends the service point. New requests are refused. Queued requests stay valid, even if the
// consumer has not polled them yet. An endpoint that is still in StateReserved returns to
// StateUnconnected.
func (l *Listener) Close() error {
	const op = "close listener"
	if l == nil {
		return &OpError{Op: op, Fault: ErrInvalidHandle}
	}
	a := l.adapter
	a.mu.Lock()
	defer a.unlock()
	if l.closed || a.closed {
		return a.err(op, ErrInvalidHandle)
	}
	l.closed = true
	l.point.Close()
	l.queue.feeds.add(StreamConnectionRequest, 0, -1)
	delete(a.listeners, l)
	if ep := l.endpoint; ep != nil {
		l.endpoint, ep.listener = nil, nil
		if ep.state == StateReserved {
			ep.state = StateUnconnected
		}
	}
	return nil
}

// arrived is the upcall for a new request, provider.ServicePointConfig.Arrived. It queues the
// request for the consumer, or returns the reason for which the request is refused.
func (l *Listener) arrived(h provider.Handshake, local, remote netip.AddrPort, p *provider.Proposal) error {
	switch {
	case l.closed, l.reserved && l.endpoint == nil:
		return ErrNotListening
	case !slices.Contains(l.adapter.limits.QoS, p.QoS), p.Multipath && !l.adapter.limits.Multipath:
		return ErrQoSRefused
	case l.unanswered >= l.backlog, l.queue.room() == 0, l.queue.failure != nil:
		return ErrBacklogFull
	}
	r := &ConnectionRequest{listener: l, handshake: h, local: local, remote: remote, proposal: *p}
	r.proposal.PrivateData = append([]byte{}, p.PrivateData...)
	if ep := l.endpoint; ep != nil {
		l.endpoint, ep.listener = nil, nil
		ep.state, r.endpoint = StatePassiveConnectionPending, ep
	}
	l.unanswered++
	l.adapter.requests[r] = struct{}{}
	l.queue.push(&Completion{
		Stream: StreamConnectionRequest,
		Event:  &Event{Type: EventConnectionRequest, Endpoint: r.endpoint, Local: local, Remote: remote, Request: r},
	}, true)
	return nil
}
