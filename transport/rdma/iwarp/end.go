package iwarp

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// release takes the socket from a queue pair and returns the socket, or -1 if there is no socket.
// After release the queue pair does not access memory or requests of the consumer any more.
func (p *queuePair) release() int {
	d, fd := p.device, p.fd
	p.state = pairDone
	if fd < 0 {
		return -1
	}
	p.sealed.stop()
	p.sealed = nil
	p.abandon()
	d.unwatch(fd)
	d.timers.stop(&p.timer)
	delete(d.pairs, p)
	d.cool(p)
	p.fd = -1
	p.rx, p.tx = receiver{}, transmitter{}
	return fd
}

// fail ends an attempt to connect or to accept, and reports its failure to the consumer.
func (p *queuePair) fail(why provider.Failure, private []byte, err error) {
	if fd := p.release(); fd >= 0 {
		reset(fd)
	}
	p.config.Upcalls.Failed(why, private, err)
}

// breakOff resets a connection that has failed. If the peer has violated MPA, DDP or RDMAP, breach
// ends the connection instead.
func (p *queuePair) breakOff(err error) {
	established := p.established()
	if fd := p.release(); fd >= 0 {
		reset(fd)
	}
	p.report(established, err)
}

// report tells the consumer that a connection, or an attempt, has failed.
func (p *queuePair) report(established bool, err error) {
	if established {
		p.config.Upcalls.Broken(err)
	} else {
		p.config.Upcalls.Failed(provider.FailureRefused, nil, err)
	}
}

// streamEnded handles the end of the peer's stream. An end between two FPDUs is the orderly end of
// an established connection. This side then also ends its stream, because neither verbs nor siw can
// use a half-closed connection.
func (p *queuePair) streamEnded() {
	switch {
	case p.state == pairStarting:
		p.breakOff(ErrHungUp)
	case p.state == pairClosing, p.rx.deframer.Boundary():
		p.disconnected()
	default:
		p.breakOff(ErrCut)
	}
}

// disconnected completes the orderly end of a connection.
func (p *queuePair) disconnected() {
	_ = unix.Close(p.release()) // TCP still sends the bytes in the send buffer
	p.config.Upcalls.Disconnected()
}

// streamLost handles an error of a read or write of the socket.
func (p *queuePair) streamLost(call string, errno unix.Errno) {
	if p.sealed != nil && p.sealed.fault != nil && p.state != pairClosing {
		if errors.Is(p.sealed.fault, ErrNotSealed) || errors.Is(p.sealed.fault, ErrTruncated) { // not a reset
			p.device.counters.Unsealed.Add(1)
		}
		p.breakOff(p.sealed.fault)
		return
	}
	if p.state == pairClosing {
		// If a peer closes its socket with unread bytes, its TCP sends a reset instead of a FIN.
		p.disconnected()
		return
	}
	p.breakOff(systemError(call, errno))
}

// segmentShown contains the parts of a segment that a Terminate shows to the peer: its DDP header,
// its RDMAP header if it is a Read Request, and its length.
type segmentShown struct {
	header, read []byte
	length       int
}

// breach ends a connection whose peer has violated the protocol. This side sends a Terminate with
// the violation, and nothing after it (RFC 5040 section 5.4).
func (p *queuePair) breach(err error, shown segmentShown) {
	if r := p.rx.message; r != nil && errors.Is(err, ddp.ErrTooLong) {
		p.rx.message = nil
		p.config.Receives.Fail(r, provider.StatusLocalLength)
	}
	established := p.established()
	p.leave(err, shown)
	p.report(established, err)
}

// leave passes the socket to a goodbye (goodbye.go). The goodbye sends the rest of a partly written
// batch, and then the Terminate message for err.
func (p *queuePair) leave(err error, shown segmentShown) {
	m := rdmap.Terminate{Code: rdmap.CodeOf(err)}
	if m.Code.Layer != rdmap.LayerLLP && len(shown.header) > 0 {
		m.SegmentLength, m.Header, m.Read = uint16(shown.length), shown.header, shown.read
	}
	h := ddp.Untagged{Last: true, Control: rdmap.TerminateOpcode.Control(), QN: rdmap.QueueTerminate, MSN: ddp.FirstMSN}
	ulpdu := make([]byte, ddp.UntaggedLength, ddp.UntaggedLength+rdmap.TerminateLengthMax)
	h.Put(ulpdu)
	ulpdu = m.Append(ulpdu)
	last := p.sealed.last(mpa.AppendFPDU(p.tx.remainder(), ulpdu, p.tx.crc))
	d := p.device
	if fd := p.release(); fd >= 0 {
		d.counters.Terminated.Add(1)
		d.bid(fd, last)
	}
}

// terminated ends a connection for which the peer has sent a Terminate. If the Terminate names layer
// RDMAP and shows a Read Request, the oldest outstanding Read fails with the status that follows from
// the error type of the Terminate.
func (p *queuePair) terminated(body []byte) {
	p.device.counters.TerminatedByPeer.Add(1)
	m, err := rdmap.ParseTerminate(body)
	if err != nil && len(body) < rdmap.TerminateLength {
		p.breach(err, p.rx.shown())
		return
	}
	reason := &rdmap.RemoteError{Code: m.Code, Other: m.Other, Ambiguous: m.Ambiguous}
	if p.tx.outbound.Len() > 0 && m.Code.Layer == rdmap.LayerRDMAP && len(m.Read) > 0 {
		if r := *p.tx.outbound.Front(); r != nil {
			status := provider.StatusRemoteOperation
			if m.Code.Type == 1 {
				status = provider.StatusRemoteAccess
			}
			p.config.Sends.Fail(r, status)
			p.tx.outbound.Pop()
		}
	}
	established := p.established()
	if fd := p.release(); fd >= 0 {
		_ = unix.Close(fd) // after its Terminate the peer processes no more bytes
	}
	p.report(established, reason)
}
