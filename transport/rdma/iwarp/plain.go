package iwarp

import (
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
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
	m := p.config.Receives.Next()
	if m == nil {
		return false
	}
	payload := ulpdu[ddp.UntaggedLength:]
	if len(m.Segments) != 1 || len(payload) > len(m.Segments[0].Data) {
		r.message = m
		return false
	}
	to := m.Segments[0].Data
	if len(payload) > copyMax {
		r.phase = linePhase(to, mpa.HeaderLength+ddp.UntaggedLength)
	}
	r.payload = len(payload)
	copy(to, payload)
	p.device.counters.BytesCopied.Add(uint64(len(payload)))
	q.Pass()
	p.config.Receives.Done(m, len(payload), 0, 0)
	return true
}

// post writes a plain Send at once when it is all there is to write. It returns false
// when it has not, or not all of it: transmit goes on.
func (p *queuePair) post() bool {
	t := &p.tx
	if len(t.vector) > 0 || t.blocked || t.held || t.rtr != 0 || t.message.active || p.rx.inbound.Len() > 0 {
		return false
	}
	r := p.config.Sends.Single()
	if r == nil || r.Op != verbs.OpSend || r.Flags&(verbs.FlagSolicited|verbs.FlagInvalidate) != 0 ||
		len(r.Segments) != 1 || r.Length > aloneMax || ddp.UntaggedLength+r.Length > t.ulpduMax {
		return false
	}
	p.config.Sends.Next()
	p.device.lend(&t.batch)
	t.open()
	from := r.Segments[0].Data
	start := 0
	if len(from) > copyMax {
		start = linePhase(from, mpa.HeaderLength+ddp.UntaggedLength)
	}
	ulpdu := ddp.UntaggedLength + len(from)
	b := t.buffer[start : start+mpa.FPDULength(ulpdu)]
	rdmap.PutPlain(b[mpa.HeaderLength:], t.msn[rdmap.QueueSend])
	copy(b[mpa.HeaderLength+ddp.UntaggedLength:], from)
	mpa.Seal(b, ulpdu, t.crc)
	t.msn[rdmap.QueueSend]++
	n, errno := send(p.fd, &b[0], len(b))
	if errno == 0 && n == len(b) {
		p.device.counters.Writes.Add(1)
		p.config.Sends.Done(r)
		p.device.takeBack(&t.batch)
		return true
	}
	t.buffer = t.buffer[:start+len(b)]
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
