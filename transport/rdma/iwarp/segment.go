package iwarp

import (
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/mpa"
	"github.com/gorun-hpc/gorun/transport/rdma/iwarp/rdmap"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// beginSegment processes the complete head of a segment. If the segment violates the protocol,
// beginSegment sets fault. Otherwise it sets the memory for the payload. beginSegment delivers no
// message.
func (p *queuePair) beginSegment(ulpdu int) {
	r := &p.rx
	r.begun, r.region, r.place, r.left, r.payload = true, nil, placement{}, 0, 0
	if r.held > 0 {
		r.payload = max(ulpdu-ddp.Length(r.head[0]), 0)
	}
	r.fault = p.checkSegment(r.head[:r.held])
}

func (p *queuePair) checkSegment(head []byte) error {
	r := &p.rx
	if len(head) < 2 {
		return mpa.ErrLength
	}
	var err error
	if r.opcode, err = rdmap.CheckControl(head[0], head[1]); err != nil {
		return err
	}
	n := ddp.Length(head[0])
	if len(head) < n {
		return mpa.ErrLength
	}
	if r.guard != guardNone && !r.guarded() {
		return rdmap.ErrOpcode
	}
	if r.opcode.Tagged() {
		if r.tagged, err = ddp.ParseTagged(head); err != nil {
			return err
		}
		if r.opcode == rdmap.Write {
			return p.placeWrite()
		}
		return p.placeReadResponse()
	}
	if r.untagged, err = ddp.ParseUntagged(head); err != nil {
		return err
	}
	if err := rdmap.CheckQueue(r.opcode, r.untagged.QN); err != nil {
		return err
	}
	q := &r.queues[r.untagged.QN]
	switch r.opcode {
	case rdmap.ReadRequestOpcode:
		if err := q.Check(&r.untagged, r.payload, rdmap.ReadRequestLength); err != nil {
			return err
		}
		if r.payload < rdmap.ReadRequestLength || !r.untagged.Last {
			return mpa.ErrLength
		}
		return nil
	case rdmap.TerminateOpcode:
		return nil // the MSN of a Terminate is not checked, because siw sets a wrong one and no message follows
	default:
		return p.placeSend(q)
	}
}

// placeWrite sets the memory that a Write fills. A Write without payload is not checked (RFC 5041
// section 5.2).
func (p *queuePair) placeWrite() error {
	r := &p.rx
	if r.payload == 0 {
		return nil
	}
	m, memory, err := p.device.regions.writable(p.domain, r.tagged.STag, r.tagged.TO, r.payload)
	if err != nil {
		return err
	}
	r.region, r.place, r.left = m, placement{piece: memory}, r.payload
	return nil
}

// placeReadResponse sets the memory that a Read Response fills: the local segments of the oldest
// outstanding Read.
func (p *queuePair) placeReadResponse() error {
	r, out := &p.rx, &p.tx.outbound
	offset, err := out.Check(&r.tagged, r.payload)
	if err != nil {
		return err
	}
	if request := *out.Front(); request != nil && r.payload > 0 {
		r.place, r.left = placeAt(request.Segments, offset), r.payload
	}
	return nil
}

// placeSend sets the memory of the receive that a Send fills. The first segment of a message takes
// the receive.
func (p *queuePair) placeSend(q *ddp.Queue) error {
	r := &p.rx
	if p.swallows() {
		return q.Check(&r.untagged, r.payload, 0)
	}
	room := int(^uint(0) >> 1)
	if r.message != nil {
		room = r.message.Length
	}
	if err := q.Check(&r.untagged, r.payload, room); err != nil {
		return err
	}
	if r.message == nil {
		if r.message = p.takeReceive(); r.message == nil {
			return ddp.ErrNoBuffer
		}
		if r.payload > r.message.Length {
			return ddp.ErrTooLong
		}
	}
	if r.payload > 0 {
		at := int(r.untagged.MO)
		if r.message.Room {
			at += headroom
		}
		r.place, r.left = placeAt(r.message.Segments, at), r.payload
	}
	return nil
}

// swallows reports whether the current segment is a Send that serves as RTR. Such a Send must not
// consume a receive (RFC 6581 section 9.2).
func (p *queuePair) swallows() bool {
	return !p.active && !p.rx.first && p.agreed.RTR == mpa.RTRSend
}

// complete processes a segment that has arrived completely and whose CRC is right.
func (p *queuePair) complete() {
	r := &p.rx
	if r.packing {
		whole := r.packed
		r.packing, r.packed = false, r.packed[:0]
		p.whole(whole)
		return
	}
	if !r.begun {
		p.beginSegment(0) // a ULPDU of length zero has no head
	}
	swallow := p.swallows()
	if r.fault == nil && !r.first {
		p.arrived()
	}
	if r.fault != nil {
		p.breach(r.fault, r.shown())
		return
	}
	switch r.opcode {
	case rdmap.Write:
	case rdmap.ReadResponse:
		p.deliverRead()
	case rdmap.ReadRequestOpcode:
		p.deliverReadRequest()
	case rdmap.TerminateOpcode:
		p.terminated(r.head[ddp.UntaggedLength:r.held])
	default:
		if swallow {
			r.queues[rdmap.QueueSend].Advance(&r.untagged, r.payload)
		} else {
			p.deliverSend()
		}
	}
	r.begun, r.held, r.left, r.region = false, 0, 0, nil
}

// arrived processes the first FPDU of the connection. After this FPDU the passive side may send
// (RFC 5044 section 7.1.2 rule 4). If an RTR was agreed, this FPDU also establishes the connection
// of the passive side.
func (p *queuePair) arrived() {
	p.rx.first = true
	if p.active {
		return
	}
	if p.state == pairStarting {
		p.open()
	}
	p.tx.held, p.tx.wanted = false, true
}

func (p *queuePair) deliverRead() {
	r, out := &p.rx, &p.tx.outbound
	if !out.Advance(&r.tagged, r.payload) {
		return
	}
	request := *out.Front()
	out.Pop()
	if request == nil {
		p.tx.held = false // the response answered the Read that served as RTR
	} else {
		p.config.Sends.Done(request)
	}
	p.tx.wanted = true // a Read or a fenced request may have waited for this response
}

func (p *queuePair) deliverReadRequest() {
	r := &p.rx
	r.queues[rdmap.QueueRead].Advance(&r.untagged, r.payload)
	request, err := rdmap.ParseReadRequest(r.head[ddp.UntaggedLength:r.held])
	if err == nil && r.guard != guardNone && request.Size > 0 {
		err = rdmap.ErrOpcode
	}
	if err == nil {
		err = r.inbound.Push(request)
	}
	if err != nil {
		p.breach(err, r.shown())
		return
	}
	p.tx.wanted = true
}

func (p *queuePair) deliverSend() {
	r := &p.rx
	length, last := r.queues[rdmap.QueueSend].Advance(&r.untagged, r.payload)
	if !last {
		return
	}
	a := provider.Arrival{Length: length}
	if r.opcode.Solicited() {
		a.Flags |= provider.FlagSolicited
	}
	if r.opcode.Invalidates() {
		if err := p.device.regions.invalidate(p.domain, r.untagged.ULP); err != nil {
			p.breach(err, r.shown())
			return
		}
		a.Flags |= provider.FlagInvalidate
		a.Invalidated = r.untagged.ULP
	}
	m := r.message
	r.message = nil
	if r.guard != guardNone {
		r.guard = guardShut // nothing else is accepted until the consumer has checked this Send
	}
	p.config.Receives.Done(m, a)
}
