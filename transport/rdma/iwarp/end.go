package iwarp

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// release gives up the socket and returns it, or -1. Nothing of the consumer is
// touched any more.
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

// fail ends an attempt.
func (p *queuePair) fail(why provider.Failure, private []byte, err error) {
	if fd := p.release(); fd >= 0 {
		reset(fd)
	}
	p.config.Upcalls.Failed(why, private, err)
}

// breakOff ends a connection that has failed without a breach of the rules.
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

// streamEnded acts on the end of the peer's stream. Between two FPDUs it is the end
// of the connection in order, and this side ends too: half a connection is of no use
// to verbs, and none to siw either.
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

// disconnected ends a connection in order.
func (p *queuePair) disconnected() {
	_ = unix.Close(p.release()) // what is in the send buffer goes out
	p.config.Upcalls.Disconnected()
}

// streamLost acts on an error of a read or write.
func (p *queuePair) streamLost(call string, errno unix.Errno) {
	if p.sealed != nil && p.sealed.fault != nil && p.state != pairClosing {
		p.device.counters.Unsealed.Add(1)
		p.breakOff(p.sealed.fault)
		return
	}
	if p.state == pairClosing {
		// A peer that closes with bytes unread sends a reset in place of an end.
		p.disconnected()
		return
	}
	p.breakOff(systemError(call, errno))
}

// segmentShown is the segment that a Terminate shows to the peer: DDP header, Read
// Request if it was one, length of the whole.
type segmentShown struct {
	header, read []byte
	length       int
}

// breach ends a connection whose peer has broken a rule: the Terminate says which,
// and is the last this side sends (RFC 5040 section 5.4).
func (p *queuePair) breach(err error, shown segmentShown) {
	if r := p.rx.message; r != nil && errors.Is(err, ddp.ErrTooLong) {
		p.rx.message = nil
		p.config.Receives.Fail(r, provider.StatusLocalLength)
	}
	established := p.established()
	p.leave(err, shown)
	p.report(established, err)
}

// leave hands the socket to a goodbye that ends what is half written, then sends
// the Terminate message of an error.
func (p *queuePair) leave(err error, shown segmentShown) {
	m := rdmap.Terminate{Code: rdmap.CodeOf(err)}
	if m.Code.Layer != rdmap.LayerLLP && len(shown.header) > 0 {
		m.SegmentLength, m.HasLength, m.Header, m.Read = uint16(shown.length), true, shown.header, shown.read
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

// terminated ends a connection that the peer has terminated. A Read that the peer
// names fails with what the peer says of it.
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
		_ = unix.Close(fd) // the peer does not listen any more
	}
	p.report(established, reason)
}
