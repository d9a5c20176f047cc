package iwarp

import (
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// kinULPDU is the longest ULPDU sent to a peer of this module: what its length
	// field can say. Payloads are then multiples of 64 bytes.
	kinULPDU = ddp.UntaggedLength + (mpa.ULPDUMax-ddp.UntaggedLength)&^63
	// ulpduMin holds a Read Request or a Terminate in one segment.
	ulpduMin = headMax
	// transmitBudget bounds what one run writes to one connection.
	transmitBudget = 4 << 20
)

// transmitter is the outbound half of a connection.
type transmitter struct {
	batch
	crc      bool
	ulpduMax int
	// held says that nothing may be sent yet, rtr what comes first then.
	held bool
	rtr  mpa.RTR
	// blocked says that the socket takes no more until an event, wanted that there may
	// be something to send that no post announces, shut that our end of the stream is
	// sent.
	blocked, wanted, shut bool

	packer packer
	// busy and stalled are TCP_INFO's times at the last look.
	busy, stalled uint64

	msn      [rdmap.Queues]uint32
	message  outgoing
	outbound rdmap.OutboundQueue[*provider.Request]
	// answered counts Read Responses; the next one answers the request with that
	// number plus ddp.FirstMSN.
	answered uint32
	// answer says whose turn is next: Read Responses and requests take turns.
	answer bool
}

// outgoing is the message that is being cut into segments. Its kind tells whether
// there is one: a Terminate is never sent this way.
type outgoing struct {
	active  bool
	opcode  rdmap.Opcode
	request *provider.Request // nil for a Read Response
	place   placement
	// left bytes of the message follow, at the offset at.
	left int
	at   int
	stag uint32
	to   uint64
	// source of a Read Response
	sourceSTag uint32
	sourceTO   uint64
}

// transmit writes what there is to write, as far as the socket takes it, and returns
// how much it did.
func (p *queuePair) transmit() int {
	t := &p.tx
	t.wanted = false
	if t.blocked || p.fd < 0 || !p.established() {
		return 0
	}
	done := 0
	for total := 0; ; {
		n, errno := 0, p.unload()
		if errno == 0 && t.empty() {
			if t.held && t.rtr == 0 || t.shut || !p.gather() {
				break
			}
		}
		if errno == 0 {
			n, errno = p.write()
		}
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			t.blocked = true
			t.packer.Block()
			p.watch()
			return done
		case errno != 0:
			p.writeLost(errno)
			return done + 1
		}
		p.device.counters.Writes.Add(1)
		done++
		if t.empty() {
			p.settle()
		}
		if total += n; total >= transmitBudget {
			p.device.later(p)
			return done
		}
	}
	p.device.takeBack(&t.batch)
	if p.state == pairClosing && !t.shut && p.fd >= 0 {
		t.shut = true
		p.sealed.last(nil)
		if p.unload() == unix.EAGAIN {
			t.blocked = true // the peer takes the end of TLS for the end
			p.watch()
			return done
		}
		_ = unix.Shutdown(p.fd, unix.SHUT_WR) // a read shows what is wrong
		done++
	}
	return done
}

// write writes what it can of the batch. With TLS that is all of it, as far as the batch
// knows.
func (p *queuePair) write() (int, unix.Errno) {
	t := &p.tx
	if p.sealed == nil {
		return t.write(p.fd)
	}
	n := p.sealed.addAll(p.device, t.vector[t.sent:])
	t.drop(n)
	if errno := p.sealed.flush(); errno != unix.EAGAIN {
		return n, errno
	}
	return n, 0
}

// unload sends what TLS has left of earlier batches.
func (p *queuePair) unload() unix.Errno {
	if p.sealed == nil {
		return 0
	}
	return p.sealed.flush()
}

// settle ends a batch that is written.
func (p *queuePair) settle() {
	for _, r := range p.tx.done {
		p.config.Sends.Done(r)
	}
	p.tx.reset()
	p.tx.packer.release()
}

// writeLost acts on an error of a write. The peer may have said why before it went:
// what it has sent is read first.
func (p *queuePair) writeLost(errno unix.Errno) {
	p.hungUp = true
	p.receive()
	if p.fd >= 0 {
		p.streamLost("send", errno)
	}
}

// gather fills the batch with segments and reports whether there are any.
func (p *queuePair) gather() bool {
	t := &p.tx
	t.reset()
	t.packer.release()
	p.device.lend(&t.batch)
	if t.rtr != 0 {
		p.gatherRTR()
	}
	for !t.held {
		if !t.message.active && (!t.room(0, 0, false) || !p.nextMessage()) {
			break
		}
		m := &t.message
		header := ddp.UntaggedLength
		if m.opcode.Tagged() {
			header = ddp.TaggedLength
		}
		n := step(m.left, (t.ulpduMax-header)&^7)
		if !t.room(n, segmentsMax, m.opcode.Tagged()) {
			break
		}
		if !p.segment(n) {
			return false
		}
	}
	return !t.empty()
}

// step returns how many of the bytes that are left the next segment takes: so many
// that the segments are as few as possible and about equal. A short one at the end
// would cost the receiver the way of reading the next message straight to its place.
func step(left, most int) int {
	if left <= most {
		return left
	}
	segments := ddp.Segments(left, most)
	return min(((left+segments-1)/segments+63)&^63, most)
}

// gatherRTR appends the initiator's indication that it is ready: what siw sends, a
// zero-length Write or Read to key 1.
func (p *queuePair) gatherRTR() {
	t := &p.tx
	t.room(0, 0, false)
	if t.rtr == mpa.RTRRead {
		r := rdmap.ReadRequest{SinkSTag: 1, SourceSTag: 1}
		t.outbound.Push(&r, nil)
		t.readRequest(&r)
		t.held = true // the consumer's Reads wait for the answer, and all with them
	} else {
		h := ddp.Tagged{Last: true, Control: rdmap.Write.Control(), STag: 1}
		start, at := t.head(ddp.TaggedLength)
		h.Put(at)
		t.fpdu(start, 0, nil, false, t.crc)
	}
	t.rtr = 0
}

// head makes room for the length field and n bytes of header at the end of the
// buffer. It returns where the FPDU begins, and the header.
func (t *transmitter) head(n int) (start int, header []byte) {
	start = len(t.buffer)
	t.buffer = t.buffer[:start+mpa.HeaderLength+n]
	return start, t.buffer[start+mpa.HeaderLength:]
}

// readRequest appends a Read Request.
func (t *transmitter) readRequest(r *rdmap.ReadRequest) {
	h := ddp.Untagged{
		Last: true, Control: rdmap.ReadRequestOpcode.Control(), QN: rdmap.QueueRead, MSN: t.msn[rdmap.QueueRead],
	}
	t.msn[rdmap.QueueRead]++
	start, at := t.head(ddp.UntaggedLength + rdmap.ReadRequestLength)
	h.Put(at)
	r.Put(at[ddp.UntaggedLength:])
	t.fpdu(start, 0, nil, false, t.crc)
}

// nextMessage begins the next message and reports whether there is one. Requests
// and Read Responses take turns, message by message: segments of two tagged messages
// are never mixed, which siw would not take. Read Requests are appended at once.
func (p *queuePair) nextMessage() bool {
	t := &p.tx
	for t.room(0, 0, false) {
		if t.answer && p.rx.inbound.Len() > 0 {
			t.answer = false
			p.beginAnswer()
			return true
		}
		r := p.config.Sends.Next()
		if r == nil {
			if p.rx.inbound.Len() == 0 {
				return false
			}
			t.answer = true
			continue
		}
		t.answer = true
		if r.Op != provider.OpRead {
			p.beginRequest(r)
			return true
		}
		p.requestRead(r)
	}
	return false
}

// beginRequest begins a Send or Write.
func (p *queuePair) beginRequest(r *provider.Request) {
	m := &p.tx.message
	*m = outgoing{active: true, opcode: rdmap.Write, request: r, place: placeAt(r.Segments, 0), left: r.Length}
	if r.Flags&provider.FlagRoom != 0 {
		m.place.piece = r.Segments[0].Data[headroom : headroom+r.Length]
	}
	m.stag, m.to = r.RKey, r.RemoteAddress
	if r.Op == provider.OpSend {
		m.opcode = rdmap.SendOpcode(r.Flags&provider.FlagSolicited != 0, r.Flags&provider.FlagInvalidate != 0)
		m.stag = 0
		if m.opcode.Invalidates() {
			m.stag = r.Invalidate
		}
	}
}

// requestRead appends the Read Request of a Read. The sink is named by its first
// segment; the response is placed by the list, wherever that leads.
func (p *queuePair) requestRead(r *provider.Request) {
	q := rdmap.ReadRequest{Size: uint32(r.Length), SourceSTag: r.RKey, SourceTO: r.RemoteAddress}
	for i := range r.Segments {
		if len(r.Segments[i].Data) > 0 {
			q.SinkSTag, q.SinkTO = r.Segments[i].LKey, addressOf(r.Segments[i].Data)
			break
		}
	}
	p.tx.outbound.Push(&q, r)
	p.tx.readRequest(&q)
}

// beginAnswer begins the Read Response to the oldest Read Request.
func (p *queuePair) beginAnswer() {
	q := p.rx.inbound.Front()
	p.tx.message = outgoing{
		active: true, opcode: rdmap.ReadResponse, left: int(q.Size), stag: q.SinkSTag, to: q.SinkTO,
		sourceSTag: q.SourceSTag, sourceTO: q.SourceTO,
	}
}

// segment appends the next segment of the message under way, with n bytes of it. It
// reports false when that has ended the connection.
func (p *queuePair) segment(n int) bool {
	t := &p.tx
	m := &t.message
	last := n == m.left
	if m.opcode == rdmap.ReadResponse && m.left > 0 {
		// What is left as a whole, so that a bad request gets no data at all; again for
		// each segment, because memory may go meanwhile.
		memory, err := p.device.regions.readable(p.domain, m.sourceSTag, m.sourceTO+uint64(m.at), m.left)
		if err != nil {
			p.breach(err, p.readShown())
			return false
		}
		m.place = placement{piece: memory[:n]}
	}
	length, place, flag := n, &m.place, byte(0)
	if packed := p.pack(n); packed != nil {
		length, place, flag = len(packed), &placement{piece: packed}, flagPacked
	}
	if m.opcode.Tagged() {
		h := ddp.Tagged{Last: last, Control: m.opcode.Control(), STag: m.stag, TO: m.to + uint64(m.at)}
		start, at := t.head(ddp.TaggedLength)
		h.Put(at)
		at[0] |= flag
		t.fpdu(start, length, place, true, t.crc)
	} else {
		t.align(ddp.UntaggedLength, place)
		h := ddp.Untagged{
			Last: last, Control: m.opcode.Control(), ULP: m.stag, MSN: t.msn[rdmap.QueueSend], MO: uint32(m.at),
		}
		start, at := t.head(ddp.UntaggedLength)
		h.Put(at)
		at[0] |= flag
		t.fpdu(start, length, place, false, t.crc)
	}
	m.at += n
	m.left -= n
	if last {
		p.endMessage()
	}
	return true
}

// endMessage ends the message whose last segment is in the batch.
func (p *queuePair) endMessage() {
	t := &p.tx
	switch {
	case t.message.request == nil:
		p.rx.inbound.Pop()
		t.answered++
	case t.message.opcode != rdmap.Write:
		t.msn[rdmap.QueueSend]++
		fallthrough
	default:
		t.done = append(t.done, t.message.request)
	}
	t.message = outgoing{}
}

// readShown returns the Read Request that is being answered, for a Terminate.
func (p *queuePair) readShown() segmentShown {
	s := segmentShown{
		header: make([]byte, ddp.UntaggedLength), read: make([]byte, rdmap.ReadRequestLength),
		length: ddp.UntaggedLength + rdmap.ReadRequestLength,
	}
	h := ddp.Untagged{
		Last: true, Control: rdmap.ReadRequestOpcode.Control(), QN: rdmap.QueueRead, MSN: ddp.FirstMSN + p.tx.answered,
	}
	h.Put(s.header)
	p.rx.inbound.Front().Put(s.read)
	return s
}
