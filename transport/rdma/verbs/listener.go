package verbs

import (
	"net/netip"
	"slices"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// backlogDefault is the backlog of ListenOptions that give none.
const backlogDefault = 128

// ListenOptions say where and how to listen.
type ListenOptions struct {
	// Address is where; port 0 is any free port, an invalid address the adapter's own.
	Address netip.AddrPort
	// Queue takes the requests (EventConnectionRequest). It is required.
	Queue *CompletionQueue
	// Backlog is how many requests may be unanswered; 0 means 128. One more is refused
	// (EventNonPeerRejected at the other end).
	Backlog int
	// Endpoint makes this a reserved service point (dat_rsp_create(3DAT)) for one
	// request, which carries the endpoint. It must be in StateUnconnected and is then
	// in StateReserved. Nil makes a public service point (dat_psp_create(3DAT)). Of the
	// pages: only verbstest uses reserved ones.
	Endpoint *Endpoint
	// Service is ServiceReliable, or ErrModelNotSupported where there is no other.
	Service Service
	// AdapterEndpoints asks that requests of a public service point carry endpoints
	// which the adapter makes. No adapter does: ErrModelNotSupported.
	AdapterEndpoints bool
}

// Listener is a service point: a place where connection requests arrive.
type Listener struct {
	adapter  *Adapter
	queue    *CompletionQueue
	point    provider.ServicePoint
	endpoint *Endpoint // of a reserved service point, until its request comes
	reserved bool
	backlog  int
	// unanswered counts requests handed out and not answered.
	unanswered int
	closed     bool
}

// Listen opens a service point. It is ErrInvalidHandle without a usable queue or
// with an endpoint of another adapter, ErrInvalidState when the endpoint is not
// unconnected, ErrModelNotSupported, ErrInvalidParameter, ErrInvalidAddress for an
// address that is not the machine's, and ErrInsufficientResources when it is taken.
func (a *Adapter) Listen(o ListenOptions) (*Listener, error) {
	const op = "listen"
	a.mu.Lock()
	defer a.unlock()
	if err := a.checkListen(&o); err != nil {
		return nil, a.err(op, err)
	}
	o.Queue.feeds.add(StreamConnectionRequest, 0, 1)
	if !o.Queue.feeds.legal() {
		o.Queue.feeds.add(StreamConnectionRequest, 0, -1)
		return nil, a.err(op, ErrInvalidParameter)
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
		return nil, newError(op, a.provider, o.Address.String(), err)
	}
	l.point = point
	a.listeners[l] = struct{}{}
	if l.reserved {
		o.Endpoint.state, o.Endpoint.listener = StateReserved, l
	}
	a.nudge()
	return l, nil
}

// checkListen finds what is wrong with options.
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

// Address returns where the listener listens.
func (l *Listener) Address() netip.AddrPort { return l.point.Address() }

// Close ends the service point; new requests are refused. Requests handed out stay
// valid, queued ones too. An endpoint that is still reserved is unconnected again.
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

// arrived is the upcall of a request.
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
		ep.state, ep.request, r.endpoint = StatePassiveConnectionPending, r, ep
	}
	l.unanswered++
	l.adapter.requests[r] = struct{}{}
	l.queue.push(&Completion{
		Stream: StreamConnectionRequest,
		Event:  &Event{Type: EventConnectionRequest, Endpoint: r.endpoint, Local: local, Remote: remote, Request: r},
	}, true)
	return nil
}
