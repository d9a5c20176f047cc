package nulldevice

import (
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// phase is the state of a queue pair's connection.
type phase uint8

const (
	phaseIdle phase = iota
	phaseConnecting
	phaseAccepting
	phaseOpen
	phaseClosing
	phaseDead
)

// point implements provider.ServicePoint: it listens at address.
type point struct {
	device  *device
	address netip.AddrPort
	config  provider.ServicePointConfig
	closed  bool
}

// Listen implements provider.Device.
func (d *device) Listen(c provider.ServicePointConfig) (provider.ServicePoint, error) {
	f := d.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	at := c.Address
	if !at.Addr().IsValid() {
		at = netip.AddrPortFrom(d.addr, at.Port())
	}
	if at.Addr() != d.addr {
		return nil, provider.ErrInvalidAddress
	}
	for at.Port() == 0 || c.Address.Port() == 0 && f.points[at] != nil {
		at = netip.AddrPortFrom(d.addr, f.nextPort())
	}
	if f.points[at] != nil {
		return nil, provider.ErrInsufficientResources
	}
	p := &point{device: d, address: at, config: c}
	f.points[at] = p
	return p, nil
}

// nextPort returns the port after the port that it returned last, so that a port is not reused soon. The
// caller holds the mutex of the fabric.
func (f *Fabric) nextPort() uint16 {
	if f.port++; f.port == 0 {
		f.port = portFirst
	}
	return f.port
}

// Address implements provider.ServicePoint.
func (p *point) Address() netip.AddrPort { return p.address }

// Close implements provider.ServicePoint.
func (p *point) Close() {
	p.closed = true
	p.device.fabric.mu.Lock()
	defer p.device.fabric.mu.Unlock()
	delete(p.device.fabric.points, p.address)
}

// copied returns a deep copy of a proposal, because the original is valid only during the call.
func copied(p *provider.Proposal) *provider.Proposal {
	c := *p
	c.PrivateData = append([]byte(nil), p.PrivateData...)
	return &c
}

// Connect implements provider.QueuePair.
func (p *pair) Connect(remote netip.AddrPort, proposal *provider.Proposal) (netip.AddrPort, error) {
	d := p.device
	if remote.Addr().Is4() != d.addr.Is4() {
		return netip.AddrPort{}, provider.ErrInvalidAddress
	}
	f := d.fabric
	f.mu.Lock()
	p.local, p.remote, p.phase = netip.AddrPortFrom(d.addr, f.nextPort()), remote, phaseConnecting
	host, at := f.hosts[remote.Addr()], f.points[remote]
	f.mu.Unlock()
	refused := func() { p.fail(provider.FailureRefused, nil, errNoPoint) }
	switch {
	case host == nil:
		d.tell(func() { p.fail(provider.FailureUnreachable, nil, errNoHost) }, nil)
	case at == nil:
		p.contacted = true
		d.tell(refused, nil)
	default:
		p.contacted = true
		asked, refuse := copied(proposal), func() { d.tell(refused, nil) }
		if !host.tell(func() { at.request(p, asked, refuse) }, refuse) {
			refuse()
		}
	}
	return p.local, nil
}

// Contacted implements provider.QueuePair.
func (p *pair) Contacted() bool { return p.contacted }

// request reports a connection request to the consumer. active is the queue pair that requests the
// connection. If the point is closed or the consumer does not take the connection request, the method request
// calls the function refuse.
func (p *point) request(active *pair, asked *provider.Proposal, refuse func()) {
	if p.closed || p.config.Arrived(&handshake{active}, p.address, active.local, asked) != nil {
		refuse()
	}
}

// fail ends a connection attempt that has not completed, and reports it as failed.
func (p *pair) fail(why provider.Failure, data []byte, err error) {
	if p.phase != phaseConnecting && p.phase != phaseAccepting {
		return
	}
	p.die()
	p.config.Upcalls.Failed(why, data, err)
}

// handshake implements provider.Handshake. With it, the passive side answers the connection request of
// active.
type handshake struct{ active *pair }

// Accept implements provider.Handshake.
func (h *handshake) Accept(qp provider.QueuePair, answer *provider.Proposal) {
	a, p := h.active, qp.(*pair)
	p.peer, p.phase, p.local, p.remote = a, phaseAccepting, a.remote, a.local
	p.receive(true)
	answered := copied(answer)
	gone := func() { p.device.tell(func() { p.fail(provider.FailureRefused, nil, errReset) }, nil) }
	if !a.device.tell(func() { a.accepted(p, answered, gone) }, gone) {
		gone()
	}
}

// accepted completes the connection attempt of p, the active side. The argument by is the queue pair that has
// accepted the attempt. If p is no longer connecting, accepted calls the function gone, which makes the
// attempt fail at the passive side.
func (p *pair) accepted(by *pair, answer *provider.Proposal, gone func()) {
	if p.phase != phaseConnecting {
		gone()
		return
	}
	p.peer, p.phase = by, phaseOpen
	p.receive(true)
	if err := p.config.Upcalls.Established(answer, p.local, p.remote); err != nil {
		p.die()
		gone()
		return
	}
	by.device.tell(by.ready, nil)
}

// ready completes the handshake at p, the passive side, after the active side is connected.
func (p *pair) ready() {
	if p.phase != phaseAccepting {
		return
	}
	p.phase = phaseOpen
	if err := p.config.Upcalls.Established(nil, p.local, p.remote); err != nil {
		p.Abort()
	}
}

// Reject implements provider.Handshake.
func (h *handshake) Reject(data []byte) {
	data = append([]byte(nil), data...)
	h.active.device.tell(func() { h.active.fail(provider.FailureRejected, data, nil) }, nil)
}

// Refuse implements provider.Handshake.
func (h *handshake) Refuse() {
	h.active.device.tell(func() { h.active.fail(provider.FailureRefused, nil, errNoPoint) }, nil)
}

// Disconnect implements provider.QueuePair.
func (p *pair) Disconnect() {
	p.phase = phaseClosing
	peer := p.peer
	if !peer.device.tell(peer.bye, nil) {
		p.device.tell(func() { p.broken(errReset) }, nil)
	}
}

// bye handles the peer's orderly disconnect: it ends the connection at both sides.
func (p *pair) bye() {
	if p.phase != phaseOpen && p.phase != phaseClosing {
		return
	}
	p.peer.device.tell(p.peer.byeSeen, nil)
	p.byeSeen()
}

// byeSeen ends the connection at this side and reports an orderly disconnect.
func (p *pair) byeSeen() {
	if p.phase == phaseOpen || p.phase == phaseClosing {
		p.die()
		p.config.Upcalls.Disconnected()
	}
}

// broken ends the connection, or the attempt to accept a connection, because of err. Either this side has
// detected err, or the peer has reported err.
func (p *pair) broken(err error) {
	switch p.phase {
	case phaseOpen, phaseClosing:
		p.die()
		p.config.Upcalls.Broken(err)
	case phaseAccepting:
		p.fail(provider.FailureRefused, nil, err)
	default:
	}
}

// Abort implements provider.QueuePair.
func (p *pair) Abort() {
	if p.phase >= phaseAccepting && p.phase < phaseDead {
		p.reset()
	}
	p.die()
}

// reset breaks the connection at the peer, which reports errReset.
func (p *pair) reset() {
	peer := p.peer
	peer.device.tell(func() { peer.broken(errReset) }, nil)
}

// Close implements provider.QueuePair.
func (p *pair) Close() { p.Abort() }
