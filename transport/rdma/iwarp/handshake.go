package iwarp

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// handshake is a connection whose MPA request has arrived and is not answered yet. This side does
// not read from the socket of the connection before it has answered.
type handshake struct {
	device        *device
	fd            int
	sealed        *sealed
	frame         mpa.Frame
	local, remote netip.AddrPort
}

var _ provider.Handshake = (*handshake)(nil)

// Accept implements provider.Handshake.
func (h *handshake) Accept(qp provider.QueuePair, answer *provider.Proposal) {
	p, ok := qp.(*queuePair)
	if !ok {
		panic("iwarp: accept with a queue pair of another provider")
	}
	d := h.device
	p.offer = mpa.Offer{
		CRC: !d.provider.withoutCRC(), IRD: uint16(answer.ResponderResources), ORD: uint16(answer.InitiatorDepth),
		RTR: mpa.RTRWrite | mpa.RTRRead | mpa.RTRSend,
	}
	p.local, p.remote, p.sealed = h.local, h.remote, h.sealed
	if err := p.adopt(h.fd); err != nil {
		p.fail(provider.FailureRefused, nil, err)
		return
	}
	p.state = pairStarting
	reply, agreed, err := p.offer.Accept(h.frame, answer.PrivateData)
	if err != nil {
		p.fail(provider.FailureRefused, nil, err)
		return
	}
	p.agreed = agreed
	if errno := say(p.fd, p.sealed, reply.Append(nil)); errno != 0 { // an empty send buffer takes a frame at once
		p.fail(provider.FailureRefused, nil, systemError("send", errno))
		return
	}
	p.begin()
	d.setTimer(&p.timer, d.config.StartTimeout)
	p.readable = true
	d.later(p)
}

// open reports to the consumer of the passive side that the connection is established.
func (p *queuePair) open() {
	p.state = pairOpen
	p.device.timers.stop(&p.timer)
	if p.agreed.RTR == 0 {
		p.nudges = 1
		p.await()
	}
	// The error is ignored. Without an answer, package verbs checks no depths, and the endpoint waits
	// for this call. So Established does not fail here.
	_ = p.config.Upcalls.Established(nil, p.local, p.remote)
}

// Reject implements provider.Handshake.
func (h *handshake) Reject(privateData []byte) {
	d := h.device
	d.counters.Rejected.Add(1)
	reply, err := mpa.Offer{IRD: depthMax, ORD: depthMax}.Reject(h.frame, privateData)
	if err != nil {
		h.Refuse()
		return
	}
	d.dismiss(h.fd, h.sealed.last(reply.Append(nil)))
}

// Refuse implements provider.Handshake: it resets the connection and sends no reply.
func (h *handshake) Refuse() { reset(h.fd) }

// dismiss sends a last frame on a socket and closes the socket in order. The kernel then completes
// the end of the connection. After the peer has acknowledged this side's FIN, the kernel waits for
// the peer's FIN for at most Config.CloseTimeout. Therefore a peer that keeps its
// end open and continues to send occupies no descriptor of this process. An initiator that follows
// the protocol has sent nothing after its request. So no unread bytes make TCP reset the
// connection, and the initiator receives the frame.
func (d *device) dismiss(fd int, last []byte) {
	n, errno := send(fd, &last[0], len(last))
	if errno != 0 || n < len(last) { // an empty send buffer takes the whole frame at once
		reset(fd)
		return
	}
	seconds := max(int(d.config.CloseTimeout/time.Second), 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_LINGER2, seconds) // if it fails, the kernel's default applies
	_ = unix.Close(fd)
}
