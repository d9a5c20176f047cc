package iwarp

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// A plain Send comes and goes as one FPDU, alone: half of a dialogue. What a kernel
// does between two of its calls leaves little of this package in the caches of the
// processor, so that its time is that of fetching the instructions it takes, and the
// ways of all messages are long. Here is a short one.

// plain acts on a ULPDU that is a plain Send, and the next one due. It returns false,
// having done nothing of consequence, for any other.
func (p *queuePair) plain(ulpdu []byte) bool {
	r := &p.rx
	msn, ok := rdmap.Plain(ulpdu)
	q := &r.queues[rdmap.QueueSend]
	if !ok || !q.Awaits(msn) || !r.first || r.message != nil {
		return false
	}
	m := p.peekReceive()
	payload := ulpdu[ddp.UntaggedLength:]
	if m == nil || len(m.Segments) != 1 || len(payload) > m.Length {
		return false
	}
	r.payload = len(payload)
	to := m.Segments[0].Data
	if m.Room {
		to = to[headroom:]
	}
	switch {
	case r.payload == 0:
	case &payload[0] == &to[0]: // see ahead
		p.device.counters.BytesPlaced.Add(uint64(r.payload))
	default:
		if r.payload > copyMax {
			r.phase = linePhase(to, headroom)
		}
		copy(to, payload)
		p.device.counters.BytesCopied.Add(uint64(r.payload))
	}
	q.Pass()
	p.deliver(m, len(payload))
	return true
}

// post writes a plain Send at once when it is all there is to write. It returns false
// when it has not, or not all of it: transmit goes on.
func (p *queuePair) post() bool {
	t := &p.tx
	if len(t.vector) > 0 || p.sealed != nil || t.blocked || t.held || t.rtr != 0 || t.message.active || p.rx.inbound.Len() > 0 {
		return false
	}
	r := p.config.Sends.Single()
	if r == nil || r.Op != provider.OpSend || r.Flags&(provider.FlagSolicited|provider.FlagInvalidate) != 0 ||
		len(r.Segments) != 1 || r.Length > aloneMax || ddp.UntaggedLength+r.Length > t.ulpduMax {
		return false
	}
	p.config.Sends.TakeSingle()
	ulpdu := ddp.UntaggedLength + r.Length
	b := r.Segments[0].Data
	if r.Flags&provider.FlagRoom == 0 {
		b = p.alone(b)
	}
	b = b[:mpa.FPDULength(ulpdu)]
	rdmap.PutPlain(b[mpa.HeaderLength:], t.msn[rdmap.QueueSend])
	mpa.Seal(b, ulpdu, t.crc)
	t.msn[rdmap.QueueSend]++
	n, errno := send(p.fd, &b[0], len(b))
	if errno == 0 && n == len(b) {
		p.device.counters.Writes.Add(1)
		p.config.Sends.Done(r)
		p.device.takeBack(&t.batch)
		return true
	}
	p.device.lend(&t.batch)
	t.open()
	t.refer(b)
	t.done = append(t.done, r)
	switch errno {
	case 0:
		p.device.counters.Writes.Add(1)
		t.drop(n)
	case unix.EAGAIN, unix.EINTR:
	default:
		p.writeLost(errno)
		return true
	}
	return false
}

// alone returns memory for an FPDU with a payload, which is in its place there. The rest
// of it is to be filled in.
func (p *queuePair) alone(payload []byte) []byte {
	t := &p.tx
	p.device.lend(&t.batch)
	t.open()
	start := 0
	if len(payload) > copyMax {
		start = linePhase(payload, headroom)
	}
	t.buffer = t.buffer[:cap(t.buffer)]
	b := t.buffer[start:]
	copy(b[headroom:], payload)
	return b
}

// ahead returns where to read to next: the staging memory or, when the last read was a
// plain Send that was not short, the receive that the next one will take, with its
// headers where there is room for them. So it need not be copied. All of it may have
// anything written to it.
func (p *queuePair) ahead() []byte {
	r := &p.rx
	if r.payload >= bulkMin {
		return p.device.staging[r.phase : r.phase+bulkHead]
	}
	if r.single && r.message == nil && r.deframer.Boundary() {
		if m := p.peekReceive(); m != nil && m.Room {
			b := m.Segments[0].Data
			return b[:min(len(b), stagingLength)]
		}
	}
	return p.device.staging[r.phase:]
}

// settled returns what was read to where ahead says, if it begins with a plain Send as a
// whole, and a copy of it in the staging memory if not: what is acted on piece by piece
// may be placed over what it comes from.
func (p *queuePair) settled(b []byte) []byte {
	if len(b) >= mpa.HeaderLength {
		ulpdu := int(binary.BigEndian.Uint16(b))
		if _, plain := rdmap.Plain(b[mpa.HeaderLength:]); plain && mpa.FPDULength(ulpdu) <= len(b) {
			return b
		}
	}
	n := copy(p.device.staging, b)
	return p.device.staging[:n]
}
