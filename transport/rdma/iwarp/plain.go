package iwarp

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// A plain Send (rdmap.PutPlain) is often sent and received alone, as one FPDU per system call, for
// example in a ping-pong. In a system call, the kernel evicts most of this package's code from the
// caches of the processor. Therefore most of the time that this package spends on a Send is the
// time to fetch instructions, and short code is faster. The general code paths, which handle all
// kinds of messages, are long. This file has a short code path for plain Sends.

// plain processes a ULPDU if three conditions hold. First, the ULPDU is a plain Send with the sequence
// number that is due, and no other Send is incomplete. Second, it is not the first ULPDU of the
// connection. Third, the posted receive consists of one piece of memory with room for the payload.
// Otherwise plain returns false and changes no state.
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
	case &payload[0] == &to[0]: // the payload is already in its place (see the method ahead)
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

// post writes the next request at once if the request is a plain Send and there is nothing else to
// write. It returns false if the caller has to call transmit, because post has not written the whole
// request.
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
	t.bytes += len(b)
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

// alone copies a payload into the buffer of the batch, and returns the memory of the FPDU around
// it. The caller fills in the headers and the trailer.
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

// ahead returns the memory for the next read. In general ahead returns the staging memory. After a
// segment with a payload of bulkMin bytes or more, it returns only bulkHead bytes of this memory. If the
// last read returned exactly one Send with more than copyMax bytes of payload, ahead expects
// another such Send. In this case ahead returns the memory of the next posted receive, provided
// that this receive has room for the headers. The payload of the next Send is then read directly to
// its place, and need not be copied. The read may overwrite all of the returned memory.
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

// settled takes the bytes b of a read, which may be in the memory of a posted receive (see ahead). If b
// begins with a whole plain Send, settled returns b. Otherwise it returns a copy of b in the staging
// memory. The reason is that any other segment is processed in pieces. Its payload may be placed in the
// memory of b, over bytes that are not processed yet.
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
