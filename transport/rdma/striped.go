package rdma

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// striped is the state of a long operation on the side connection.
type striped struct {
	// long reports whether the operation is long enough to be striped.
	long bool
	// memory is the memory of the operation, registered on rail. If rail is nil, it is not
	// registered.
	memory registration
	rail   *rail
	// address and rkey name the peer's memory on the side connection, if key is KeyKnown.
	key     stripe.KeyState
	address uint64
	rkey    uint32
}

// deregister ends the registration of the memory, if there is one, and forgets the key.
func (s *striped) deregister() error {
	r := s.rail
	s.rail, s.key = nil, stripe.KeyUnknown
	if r == nil {
		return nil
	}
	err := r.registered.give(s.memory)
	s.memory = registration{}
	if r.removed {
		return nil // the registration has ended with the adapter
	}
	return err
}

// shares reports whether the side connection transfers parts of the operation, or will transfer
// parts when the key is known. If shares returns true, the main connection leaves some parts to the
// side connection.
func (o *operation) shares(p *endpoint) bool {
	s := &p.side
	return o.striped.long && !o.copied && o.striped.key != stripe.KeyNone && s.link != nil && !s.link.broken && s.judge.Both() &&
		(o.kind == operationPut || s.depth > 0)
}

// left returns the number of bytes left to post of the long operations in b.moving.
func (b *bulk) left() int {
	n := 0
	for _, o := range b.moving {
		if o.striped.long {
			n += o.transfer.Left()
		}
	}
	return n
}

// sorted returns the operations in the order in which they began.
func (b *bulk) sorted() []*operation {
	list := make([]*operation, 0, len(b.all))
	for _, o := range b.all {
		list = append(list, o)
	}
	slices.SortFunc(list, func(x, y *operation) int { return cmp.Compare(x.id, y.id) })
	return list
}

// stepAside posts the next part of an operation on the side connection. It returns false if no part
// can be posted on the side connection now.
func (o *operation) stepAside(p *endpoint) bool {
	s := &p.side
	if !o.striped.long || o.copied {
		return false
	}
	if s.link == nil {
		s.want(p)
		return false
	}
	if !o.shares(p) || o.striped.key == stripe.KeyUnknown && !o.askKey(p) || o.striped.key != stripe.KeyKnown {
		return false
	}
	l := s.link
	w := verbs.WorkRequest{Op: verbs.OpRead, ID: idOf(idRead, o.id), RKey: o.striped.rkey}
	count, under, most := &s.reading, min(s.depth, sideMost), min(p.t.stripe.chunk, l.rail.attributes.MaxRDMA)
	if o.kind == operationPut {
		w.Op, w.ID, count, under, most = verbs.OpWrite, idOf(idWrite, o.id), &s.writing, writesMax, min(most, writeChunk)
	}
	part := o.transfer.Next(most)
	if *count >= under || part.Len == 0 || !s.judge.Takes(stripe.Side, part.Len, p.bulk.left()+o.transfer.Left()) {
		return false
	}
	w.RemoteAddress, w.Flags = o.striped.address+uint64(part.Off), l.rail.flags()
	p.t.segments[0] = o.striped.memory.region.Segment(o.striped.memory.off+part.Off, part.Len)
	w.Segments = p.t.segments[:]
	if l.endpoint.Post(&w) != nil {
		l.broken = true // an event for the end of the connection follows
		return false
	}
	*count++
	o.transfer.Post(stripe.Side, part.Len)
	s.judge.Posted(stripe.Side, part.Len, p.t.now())
	p.activity++
	return true
}

// askKey registers the memory of an operation on the side connection's rail, and asks the owner for
// the key on the owner's rail. It returns true if the key is already known.
func (o *operation) askKey(p *endpoint) bool {
	s, l := &o.striped, p.side.link
	rights, access := verbs.AccessLocalWrite, transport.AccessRead
	if o.kind == operationPut {
		rights, access = 0, transport.AccessWrite
	}
	if s.rail == nil {
		var err error
		if s.memory, err = l.rail.registered.take(o.data, rights); err != nil {
			s.key = stripe.KeyNone
			return false
		}
		s.rail = l.rail
	}
	if uint8(o.key.Token>>railShift) == l.peerRail {
		s.key, s.address, s.rkey = stripe.KeyKnown, o.key.Addr, uint32(o.key.Token)
		return true
	}
	if p.bulk.keys >= operationsMax {
		return false // the owner need not accept more questions before it has answered some
	}
	var payload [questionBytes]byte
	binary.LittleEndian.PutUint32(payload[:], o.id)
	payload[4], payload[5] = byte(access), l.peerRail
	if p.sendRecord(recordKey, transport.Header{A: o.key.Addr, B: o.key.Token, C: uint64(len(o.data))}, payload[:], nil) {
		s.key, o.referred = stripe.KeyAsked, true
		p.bulk.keys++
	}
	return false
}

// keyed handles the answer to a recordKey.
func (o *operation) keyed(p *endpoint, h *transport.Header) {
	s, l := &o.striped, p.side.link
	switch {
	case h.B&statusMask != statusGood:
		s.key = stripe.KeyNone
	case l == nil || uint8(h.B>>checkedRailShift) != l.peerRail:
		s.key = stripe.KeyUnknown // the key is for another rail
	default:
		s.key, s.address, s.rkey = stripe.KeyKnown, h.A, uint32(h.B>>checkedKeyShift)
	}
}
