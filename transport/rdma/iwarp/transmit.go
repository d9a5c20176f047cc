package iwarp

import (
	"math"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

const (
	// kinULPDU is the length of the longest ULPDU that is sent to a peer that runs this module. It
	// is the maximum of the length field, reduced so that the payload is a multiple of 64 bytes.
	kinULPDU = ddp.UntaggedLength + (mpa.ULPDUMax-ddp.UntaggedLength)&^63
	// ulpduMin is the minimum value of the field ulpduMax. It ensures that a Read Request or a
	// Terminate message fits in one segment.
	ulpduMin = headMax
	// transmitBudget bounds the bytes that one call of transmit writes to a connection.
	transmitBudget = 4 << 20
)

// transmitter is the state of the outbound direction of a connection.
type transmitter struct {
	batch
	crc      bool
	ulpduMax int
	// held is true while no message may be sent. rtr is the RTR that is to be sent next, even while
	// held is true. It is 0 if no RTR is to be sent.
	held bool
	rtr  mpa.RTR
	// blocked becomes true when the socket takes no more bytes, and false when epoll reports that
	// the socket takes bytes again. wanted is true if data may have become ready to be sent without
	// a new post, for example a Read Response. shut is true when this side has ended its stream.
	blocked, wanted, shut bool

	packer packer
	// busy and stalled are values of TCP_INFO at the last call of the method look: the busy time,
	// and the time for which the peer's window limited the sender.
	busy, stalled uint64

	msn      [rdmap.Queues]uint32
	message  outgoing
	outbound rdmap.OutboundQueue[*provider.Request]
	// answered counts the Read Responses that were sent. The next Read Response answers the Read
	// Request with the MSN answered + ddp.FirstMSN.
	answered uint32
	// answer is true if it is the turn of a Read Response. Read Responses and requests take turns.
	answer bool
}

// outgoing is the message that is being cut into segments. active reports whether there is such a
// message. outgoing is never a Terminate message.
type outgoing struct {
	active  bool
	opcode  rdmap.Opcode
	request *provider.Request // nil for a Read Response
	place   placement
	// left is the number of bytes that are not cut into segments yet, and at is the offset of these
	// bytes in the message.
	left int
	at   int
	stag uint32
	to   uint64
	// sourceSTag and sourceTO name the memory that a Read Response sends.
	sourceSTag uint32
	sourceTO   uint64
}

// transmit writes segments of posted requests and of Read Responses, until none are left, the
// socket takes no more bytes, or transmitBudget is reached. It returns the number of its writes.
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
			t.blocked = true // no Shutdown follows, because the end of the TLS stream is enough for the peer
			p.watch()
			return done
		}
		_ = unix.Shutdown(p.fd, unix.SHUT_WR) // the next read reports a failure
		done++
	}
	return done
}

// write writes as much of the batch as the socket takes. With TLS it encrypts the whole batch, and
// the batch counts as written when it is encrypted. The method unload later sends the ciphertext
// that the socket has not taken.
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

// unload sends the ciphertext that is left of earlier batches. It returns EAGAIN if the socket has
// not taken all of it.
func (p *queuePair) unload() unix.Errno {
	if p.sealed == nil {
		return 0
	}
	return p.sealed.flush()
}

// settle completes the requests of a batch that is written, and empties the batch.
func (p *queuePair) settle() {
	for _, r := range p.tx.done {
		p.config.Sends.Done(r)
	}
	p.tx.reset()
	p.tx.packer.release()
}

// writeLost handles an error of a write. It first reads all data that has arrived: the last messages of
// the peer, and the reason for which the peer has ended the connection.
func (p *queuePair) writeLost(errno unix.Errno) {
	p.hungUp = true
	p.receive(math.MaxInt)
	if p.fd >= 0 {
		p.streamLost("send", errno)
	}
}

// gather fills the batch with segments and reports whether it contains any.
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

// step returns the length of the payload in the next segment of a message. left is the number of
// bytes of the message that are left. most is the maximum number of bytes in a segment. The message
// gets as few segments as possible, and the segments have about the same length. If the last
// segment were short, the receiver could not read the next message directly into its target (see
// bulkMin in receive.go).
func step(left, most int) int {
	if left <= most {
		return left
	}
	segments := ddp.Segments(left, most)
	return min(((left+segments-1)/segments+63)&^63, most)
}

// gatherRTR appends the RTR, the initiator's indication that it is ready. The RTR is a zero-length
// Write or Read with STag 1, the same as the RTR of siw.
func (p *queuePair) gatherRTR() {
	t := &p.tx
	t.room(0, 0, false)
	if t.rtr == mpa.RTRRead {
		r := rdmap.ReadRequest{SinkSTag: 1, SourceSTag: 1}
		t.outbound.Push(&r, nil)
		t.readRequest(&r)
		t.held = true // the consumer's requests wait for the response to the RTR
	} else {
		h := ddp.Tagged{Last: true, Control: rdmap.Write.Control(), STag: 1}
		start, at := t.head(ddp.TaggedLength)
		h.Put(at)
		t.fpdu(start, 0, nil, false, t.crc)
	}
	t.rtr = 0
}

// head reserves the length field and n bytes of header at the end of the buffer. It returns the
// offset of the FPDU in the buffer, and the memory of the header.
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

// nextMessage begins the next message. It reports whether there is a next message. Requests and
// Read Responses take turns, one message at a time. The segments of two tagged messages are never
// interleaved, because siw would not accept that. A Read Request is appended to the batch at once.
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

// beginRequest begins the message of a Send or Write.
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

// requestRead appends the Read Request of a Read. The Read Request names only the first non-empty
// segment as the sink. But this side places the response into the whole list of segments, which may
// lie anywhere in memory.
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

// segment appends the next segment of the current message, with n bytes of payload. It returns
// false if it has ended the connection.
func (p *queuePair) segment(n int) bool {
	t := &p.tx
	m := &t.message
	last := n == m.left
	if m.opcode == rdmap.ReadResponse && m.left > 0 {
		// The call of readable checks all bytes that are left, so that this side sends no data in
		// response to an invalid request. The call is repeated for each segment, because the memory
		// may be deregistered between two segments.
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

// endMessage ends the message whose last segment was appended to the batch.
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

// readShown returns the Read Request that is being answered, in the form that a Terminate message
// quotes.
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
