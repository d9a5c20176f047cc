package iwarp

import (
	"math/bits"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// pairState is the state of a connection.
type pairState uint8

const (
	pairFresh      pairState = iota // no socket
	pairConnecting                  // active: TCP connects
	pairSealing                     // active: the TLS handshake is in progress
	pairReplying                    // active: the MPA request was sent, and the reply is awaited
	pairStarting                    // passive: the reply was sent, and the first FPDU is awaited
	pairOpen                        // established
	pairClosing                     // this side has disconnected, but not the peer
	pairDone                        // no socket any more
)

// queuePair is one end of one connection.
type queuePair struct {
	entry
	device *device
	config provider.QueuePairConfig
	domain *domain
	shared *sharedReceives // nil if the endpoint has receives of its own
	state  pairState
	fd     int
	sealed *sealed // TLS on the socket, or nil
	local  netip.AddrPort
	remote netip.AddrPort
	timer  timer

	offer   mpa.Offer
	agreed  mpa.Agreement
	request []byte // active: the MPA request, until the request is sent
	reply   frameReader
	failure error // the error of connect(2), which runConnecting reports
	active  bool
	// nudges is the number of times that the silence of the peer can still have an effect (see the
	// method silent).
	nudges int

	// readable is true if a read may find data or the end of the stream. hungUp is true once epoll
	// or a write has reported that the stream has ended or failed.
	readable, hungUp bool
	// interest holds the epoll events for which the socket is watched. It is 0 if the socket is not
	// in epoll: see hot.go. warm counts the calls of touch since the socket was added to epoll. quiet
	// counts the reads without data since the last read with data.
	interest uint32
	warm     int
	quiet    int
	rx       receiver
	tx       transmitter
	// packedFrom and packedTo count the bytes of payload that was sent compressed: packedFrom
	// before compression, packedTo after it.
	packedFrom, packedTo uint64
}

var (
	_ provider.QueuePair = (*queuePair)(nil)
	_ provider.Explainer = (*queuePair)(nil)
	_ provider.Wearer    = (*queuePair)(nil)
)

// begin initializes both directions with the parameters that both sides have agreed on.
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
	// The limit of outstanding Reads is the greater of the offered and the agreed ORD. It need not
	// be the final ORD, because package verbs enforces the final ORD. One more Read is allowed,
	// because a Read that serves as RTR is outstanding before the consumer's Reads.
	p.tx.outbound = rdmap.NewOutboundQueue[*provider.Request](int(max(a.ORD, p.offer.ORD)) + 1)
}

// served returns the number of Read Requests that this side holds at a time. The argument ird is
// the agreed depth. The kernel's siw rounds its queue of outbound Reads up to a power of two and
// fills the queue (siw_qp_readq_init, siw_verbs.c). RFC 5040 section 6.1 forbids the requester to
// exceed the agreed depth, but allows the responder to serve more Reads. So served rounds up, too.
func served(ird int) int {
	if ird == 0 {
		return 0
	}
	return 1 << bits.Len(uint(ird-1))
}

// established reports whether the consumer was notified that the connection is
// established.
func (p *queuePair) established() bool { return p.state == pairOpen || p.state == pairClosing }

// adopt takes ownership of a socket and adds it to epoll.
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

// runOpen reads and writes as much as it can. It is called when an event or the agenda announces
// work.
func (p *queuePair) runOpen() int {
	if p.interest == 0 && !slices.Contains(p.device.hot[:], p) {
		p.watch() // epoll did not take the socket before; watch puts p on the agenda if epoll fails again
	}
	n := 0
	if p.readable {
		n += p.receive(receiveBudget)
	}
	return n + p.transmit()
}

// pump does the work of runOpen for a hot queue pair (see hot.go). It reads even if no event has
// announced data.
func (p *queuePair) pump() int {
	if p.state < pairStarting || p.state == pairDone {
		return 0
	}
	n := p.receive(receiveBudget)
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

// ReceivesPosted implements provider.QueuePair. It does nothing, because this package looks for a
// receive only when a message arrives.
func (p *queuePair) ReceivesPosted() {}

// Contacted implements provider.QueuePair.
func (p *queuePair) Contacted() bool { return p.state > pairConnecting }

// Drain implements provider.QueuePair. It does nothing, because this package reports each request
// as soon as the request has been written or answered.
func (p *queuePair) Drain() {}

// Disconnect implements provider.QueuePair. No request of this side is outstanding. The Read Requests of
// the peer that have arrived are still answered. Then this side ends its stream.
func (p *queuePair) Disconnect() {
	if p.state != pairOpen {
		return
	}
	p.state = pairClosing
	p.device.setTimer(&p.timer, p.device.config.CloseTimeout)
	// The stream does not end within this call, because the write might fail. So Progress, and not
	// this call, reports a failure.
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
