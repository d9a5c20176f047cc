package rdma

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
	"github.com/gorun-hpc/gorun/transport/rdma/internal/stripe"
)

// A Read or Write that the owner of the memory refuses ends the connection. Neither side learns
// from its adapter with certainty which operation was refused. So every Get or Put that was in
// flight on a lost connection is uncertain. On the next connection this rank asks the owner of the
// memory whether the key of an uncertain operation is still valid. If the key is not valid, the
// operation ends with ErrBadKey. If the key is valid, a Get starts again, at most readTries times,
// which has the same effect as a slow Get. A Put fails, because the owner may already have read some
// of the written bytes.

// interrupt makes the Gets and Puts in flight uncertain. A Put whose bytes are all in place ends
// successfully instead. interrupt does not change FetchAdds, because they are messages, and messages
// are not lost.
func (b *bulk) interrupt(p *endpoint) {
	b.moving, b.marking, b.reading, b.writing = nil, nil, 0, 0
	b.asking = slices.DeleteFunc(b.asking, func(o *operation) bool { return o.kind != operationFetchAdd && !o.uncertain })
	for _, o := range b.sorted() {
		if o.kind == operationFetchAdd || o.uncertain {
			continue
		}
		o.abandon()
		if o.transfer.Placed() {
			p.finish(o, 0, nil)
			continue
		}
		o.interrupted, o.uncertain, o.asked = true, true, false
		o.transfer.Begin(len(o.data), o.kind == operationPut)
		b.asking = append(b.asking, o)
	}
}

// reaches reports whether Reads or Writes are in flight whose memory stays registered after the
// end of their operations. The adapter may still access this memory.
func (b *bulk) reaches() bool {
	for _, o := range b.all {
		if o.transfer.Under(stripe.Main) > 0 && (o.copied || o.memory.lasting != nil) {
			return true
		}
	}
	return false
}

// end ends every operation with the error err.
func (b *bulk) end(p *endpoint, err error) {
	for _, o := range b.sorted() {
		p.finish(o, 0, err)
	}
	b.moving, b.asking, b.marking, b.answers = nil, nil, nil, nil
}

// The statuses of recordFetched, recordChecked and recordKeyed are in the lowest byte of word B of
// the record's header. A recordChecked or recordKeyed also contains the number of the owner's rail,
// in the next byte of B. The upper half of B is the key on that rail, and A is the address on that
// rail.
const (
	statusGood = iota
	statusBadKey
	// statusRefused means that the key is valid, but the owner's adapter cannot register the
	// memory.
	statusRefused

	statusMask       = 1<<8 - 1
	checkedRailShift = 8
	checkedKeyShift  = 32
)

// serve handles a record that is not a message.
func (p *endpoint) serve(r *record) error {
	b := &p.bulk
	switch r.kind {
	case recordMarker:
		p.prompt = true
	case recordLeave:
		p.prompt = true
		if err := p.agree(&r.header); err != nil {
			return err
		}
	case recordStay:
		p.stay(r.header.A)
	case recordFetch, recordCheck:
		if len(r.payload) != questionBytes {
			return fmt.Errorf("%w: a request of %d bytes instead of %d", transport.ErrDamaged, len(r.payload), questionBytes)
		}
		if err := b.overdue(); err != nil {
			return err
		}
		b.answers = append(b.answers, p.answer(r))
	case recordKey, recordClose:
		if err := p.serveSide(r); err != nil {
			return err
		}
	case recordKeyed, recordClosed, recordMarked:
		p.sideAnswered(r)
	case recordFetched, recordChecked:
		if o := b.all[uint32(r.header.C)]; o != nil && o.awaits(r.kind) {
			o.answered(p, &r.header)
		}
	default:
	}
	p.list()
	return nil
}

// overdue returns an error if answersMax answers already wait to be sent to the peer, and no further one may
// wait. A correct peer sends no more requests then.
func (b *bulk) overdue() error {
	if len(b.answers) < answersMax {
		return nil
	}
	return fmt.Errorf("%w: %d requests of the peer are unanswered", transport.ErrDamaged, len(b.answers))
}

// answer executes a recordFetch or recordCheck of the peer, and returns the answer. The answer to a
// check contains the key on the rail of the last connection. It also contains the number of this
// rail, because another connection may be in use when the answer arrives.
func (p *endpoint) answer(r *record) answer {
	t := p.t
	id := uint64(binary.LittleEndian.Uint32(r.payload))
	k := transport.Key{Addr: r.header.A, Token: r.header.B}
	a := answer{recordChecked, transport.Header{B: statusGood, C: id}}
	var ok bool
	if r.kind == recordCheck {
		if _, ok = t.exposed.slice(k, int(r.header.C), transport.Access(r.payload[4])); ok {
			var key uint32
			var err error
			a.header.A, key, err = t.exposed.on(k, p.rail)
			a.header.B = uint64(key)<<checkedKeyShift | uint64(p.rail.index)<<checkedRailShift
			if err != nil && !p.rail.removed { // if the rail was removed, the peer asks again on the next connection
				t.complain(err)
				a.header.B = statusRefused
			}
		}
	} else {
		a.kind = recordFetched
		var word []byte
		if word, ok = t.exposed.slice(k, wordBytes, transport.AccessAtomic); ok {
			a.header.A, ok = addWord(word, r.header.C)
		}
	}
	if !ok {
		a.header.B = statusBadKey
	}
	return a
}

// answered handles the owner's answer to a recordFetch or recordCheck.
func (o *operation) answered(p *endpoint, h *transport.Header) {
	switch status := h.B & statusMask; {
	case status == statusRefused:
		p.finish(o, 0, errRefused)
	case status != statusGood:
		p.finish(o, 0, transport.ErrBadKey)
	case o.kind == operationFetchAdd:
		p.finish(o, h.A, nil)
	case o.interrupted && (o.kind == operationPut || o.tries == readTries):
		p.finish(o, 0, errInterrupted)
	case p.link == nil || uint8(h.B>>checkedRailShift) != p.link.peerRail:
		o.asked = false // the key is for a rail that is not in use any more
		p.bulk.asking = append(p.bulk.asking, o)
	case o.kind == operationGet && p.depth == 0: // this connection has no Reads, unlike the one on which the Get began
		p.finish(o, 0, transport.ErrNotSupported)
	default:
		if err := o.register(p.link.rail); err != nil {
			p.finish(o, 0, err)
			return
		}
		if o.interrupted {
			o.tries++
		}
		o.address, o.rkey = h.A, uint32(h.B>>checkedKeyShift)
		o.interrupted, o.uncertain, o.asked = false, false, false
		p.bulk.moving = append(p.bulk.moving, o)
	}
}

// awaits reports whether a record of this kind answers the record that ask has sent. A marker is only acknowledged.
func (o *operation) awaits(kind recordKind) bool {
	if o.kind == operationFetchAdd {
		return o.asked && kind == recordFetched
	}
	return o.asked && o.uncertain && kind == recordChecked
}
