package iwarp

import (
	"math/bits"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// pairState is where a connection is.
type pairState uint8

const (
	pairFresh      pairState = iota // no socket
	pairConnecting                  // active: TCP connects
	pairSealing                     // active: TLS begins
	pairReplying                    // active: the MPA request is out, its reply is due
	pairStarting                    // passive: the reply is out, the first FPDU is due
	pairOpen                        // messages pass
	pairClosing                     // this side has ended, the peer has not
	pairDone                        // no socket any more
)

// queuePair is one end of one connection.
type queuePair struct {
	entry
	device *device
	config provider.QueuePairConfig
	domain *domain
	shared *sharedReceives // or nil
	state  pairState
	fd     int
	sealed *sealed // TLS on the socket, or nil
	local  netip.AddrPort
	remote netip.AddrPort
	timer  timer

	offer   mpa.Offer
	agreed  mpa.Agreement
	request []byte // active: the MPA request, until it is sent
	reply   frameReader
	failure error // an attempt that failed before anybody could be told
	active  bool
	// nudges is how often something is still done about a peer's silence.
	nudges int

	// readable says that a read may find something, hungUp that the end of the stream
	// is known to be there.
	readable, hungUp bool
	// interest is what epoll watches the socket for, 0 for nothing: see hot.go. warm
	// counts messages since then, quiet the reads without data since the last.
	interest uint32
	warm     int
	quiet    int
	rx       receiver
	tx       transmitter
	// packedFrom and packedTo are what was sent compressed, before and after.
	packedFrom, packedTo uint64
}

var (
	_ provider.QueuePair = (*queuePair)(nil)
	_ provider.Explainer = (*queuePair)(nil)
	_ provider.Wearer    = (*queuePair)(nil)
)

// begin readies both directions for what was agreed.
func (p *queuePair) begin() {
	a := &p.agreed
	p.rx = receiver{deframer: mpa.NewDeframer(a.CRC), crc: a.CRC, guard: p.guarded()}
	for i := range p.rx.queues {
		p.rx.queues[i] = ddp.NewQueue(ddp.FirstMSN)
	}
	p.rx.inbound = rdmap.NewInboundQueue(served(int(a.IRD)))
	ulpdu := mpa.MULPDU(segmentSize(p.fd))
	if a.Kin {
		ulpdu = kinULPDU
	}
	if limit := p.device.config.SegmentMax; limit > 0 {
		ulpdu = min(ulpdu, max(limit, ulpduMin))
	}
	p.tx = transmitter{crc: a.CRC, ulpduMax: ulpdu, held: true}
	p.tx.packer = newPacker(p.device.config.Packing)
	p.tx.msn = [rdmap.Queues]uint32{ddp.FirstMSN, ddp.FirstMSN, ddp.FirstMSN}
	// What was offered, since it is verbs that holds the final ORD, and one more: a Read
	// as RTR is outstanding before the consumer's are, and those wait for it.
	p.tx.outbound = rdmap.NewOutboundQueue[*provider.Request](int(max(a.ORD, p.offer.ORD)) + 1)
}

// served is the number of Read Requests that are taken at a time where ird were agreed.
// The kernel's siw rounds its queue of outbound Reads up to a power of two and fills it
// (siw_qp_readq_init, siw_verbs.c); RFC 5040 section 6.1 forbids that to the requester and
// leaves the responder free to serve more.
func served(ird int) int {
	if ird == 0 {
		return 0
	}
	return 1 << bits.Len(uint(ird-1))
}

// established reports whether the consumer was notified that the connection is
// established.
func (p *queuePair) established() bool { return p.state == pairOpen || p.state == pairClosing }

// adopt takes a socket.
func (p *queuePair) adopt(fd int) error {
	p.fd = fd
	p.device.pairs[p] = struct{}{}
	p.interest = eventsInOut
	return p.device.watch(fd, p, eventsInOut)
}

// notice implements task.
func (p *queuePair) notice(events uint32) {
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		p.readable = true
	}
	if events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		p.hungUp = true
	}
	if events&unix.EPOLLOUT != 0 {
		p.tx.blocked = false
	}
}

// run implements task.
func (p *queuePair) run() int {
	switch p.state {
	case pairConnecting:
		return p.runConnecting()
	case pairSealing:
		return p.runSealing()
	case pairReplying:
		return p.runReplying()
	case pairStarting:
		if p.agreed.RTR == 0 {
			p.open()
		}
		return p.runOpen()
	case pairOpen, pairClosing:
		return p.runOpen()
	default:
		return 0
	}
}

// runOpen reads and writes as much as it can; something is known to be there.
func (p *queuePair) runOpen() int {
	n := 0
	if p.readable {
		n += p.receive()
	}
	return n + p.transmit()
}

// pump is runOpen of a hot pair: it reads without being told that it can.
func (p *queuePair) pump() int {
	if p.state < pairStarting || p.state == pairDone {
		return 0
	}
	n := p.receive()
	if p.tx.wanted && !p.tx.blocked {
		n += p.transmit()
	}
	return n
}

// RequestsPosted implements provider.QueuePair.
func (p *queuePair) RequestsPosted() {
	if p.state == pairOpen && !p.post() {
		p.transmit()
		if p.tx.held {
			p.await()
		}
	}
}

// ReceivesPosted implements provider.QueuePair. Receives are looked for when a message
// comes.
func (p *queuePair) ReceivesPosted() {}

// Contacted implements provider.QueuePair.
func (p *queuePair) Contacted() bool { return p.state > pairConnecting }

// Drain implements provider.QueuePair. Each request is reported when it is written or
// answered.
func (p *queuePair) Drain() {}

// Disconnect implements provider.QueuePair: what was posted is on its way already, what
// the peer has asked for is still answered, then comes the end of the stream.
func (p *queuePair) Disconnect() {
	if p.state != pairOpen {
		return
	}
	p.state = pairClosing
	p.device.setTimer(&p.timer, p.device.config.CloseTimeout)
	// Not from here: a failing write is reported, which no call within a call may.
	p.device.later(p)
}

// Abort implements provider.QueuePair.
func (p *queuePair) Abort() {
	if fd := p.release(); fd >= 0 {
		reset(fd)
	}
}

// Close implements provider.QueuePair.
func (p *queuePair) Close() { p.Abort() }

// expire implements the owner of a timer.
func (p *queuePair) expire() {
	switch p.state {
	case pairStarting:
		p.fail(provider.FailureTimedOut, nil, ErrNoFirstMessage)
	case pairOpen:
		p.silent()
	case pairClosing:
		p.breakOff(ErrNotClosed)
	default:
	}
}
