package iwarp

import (
	"net/netip"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// handshake is a connection whose MPA request has come and is not answered yet.
// Nobody looks at its socket meanwhile.
type handshake struct {
	device        *device
	fd            int
	frame         mpa.Frame
	local, remote netip.AddrPort
}

var _ verbs.Handshake = (*handshake)(nil)

// Accept implements verbs.Handshake.
func (h *handshake) Accept(qp verbs.QueuePair, answer *verbs.Proposal) {
	p, ok := qp.(*queuePair)
	if !ok {
		panic("iwarp: accept with a queue pair of another provider")
	}
	d := h.device
	p.offer = mpa.Offer{
		CRC: !d.config.NoCRC, IRD: uint16(answer.ResponderResources), ORD: uint16(answer.InitiatorDepth),
		RTR: mpa.RTRWrite | mpa.RTRRead | mpa.RTRSend,
	}
	p.local, p.remote = h.local, h.remote
	if err := p.adopt(h.fd); err != nil {
		p.fail(verbs.FailureRefused, nil, err)
		return
	}
	p.state = pairStarting
	reply, agreed, err := p.offer.Accept(h.frame, answer.PrivateData)
	if err != nil {
		p.fail(verbs.FailureRefused, nil, err)
		return
	}
	p.agreed = agreed
	frame := reply.Append(nil)
	n, errno := send(p.fd, &frame[0], len(frame))
	if errno != 0 || n < len(frame) { // an empty send buffer takes a frame at once
		p.fail(verbs.FailureRefused, nil, systemError("send", errno))
		return
	}
	p.begin()
	d.setTimer(&p.timer, d.config.ReplyTimeout)
	p.readable = true
	d.later(p)
}

// open tells the consumer of the passive side that the connection stands.
func (p *queuePair) open() {
	p.state = pairOpen
	p.device.timers.stop(&p.timer)
	// Only the active side refuses depths.
	_ = p.config.Upcalls.Established(nil, p.local, p.remote)
}

// Reject implements verbs.Handshake.
func (h *handshake) Reject(privateData []byte) {
	reply, err := mpa.Offer{IRD: depthMax, ORD: depthMax}.Reject(h.frame, privateData)
	if err != nil {
		h.Refuse()
		return
	}
	h.device.bid(h.fd, reply.Append(nil))
}

// Refuse implements verbs.Handshake: TCP's reset in place of a reply.
func (h *handshake) Refuse() { reset(h.fd) }

// bid sends the last bytes of a connection and ends it in order.
func (d *device) bid(fd int, last []byte) {
	f := &farewell{device: d, fd: fd, rest: last}
	f.timer.owner = f
	d.farewells[f] = struct{}{}
	if d.watch(fd, f, eventsInOut) != nil {
		f.end()
		return
	}
	d.setTimer(&f.timer, d.config.CloseTimeout)
	f.run()
}
