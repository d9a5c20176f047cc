package rdma

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
)

// A Read or Write that the owner of the memory refuses ends the connection, and
// neither side learns from the adapter for sure which one it was. So whatever was
// under way on a connection that is lost is uncertain: on the next one the owner is
// asked about each key. A bad one is ErrBadKey; with a good one a Get starts again,
// which has the same effect as a slow one, and a Put fails, because what it wrote may have
// been seen.

// interrupt makes the Gets and Puts under way uncertain. FetchAdds are messages, and
// messages are not lost.
func (b *bulk) interrupt() {
	b.moving, b.reading, b.writing = nil, 0, 0
	b.asking = slices.DeleteFunc(b.asking, func(o *operation) bool { return o.kind != operationFetchAdd && !o.uncertain })
	ids := make([]uint32, 0, len(b.all))
	for id := range b.all {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		o := b.all[id]
		if o.kind == operationFetchAdd || o.uncertain {
			continue
		}
		o.uncertain, o.asked, o.next, o.flight = true, false, 0, 0
		b.asking = append(b.asking, o)
	}
}

// resume goes on after a connection was put in use.
func (b *bulk) resume(p *endpoint) { b.drive(p) }

// end ends every operation with err.
func (b *bulk) end(p *endpoint, err error) {
	ids := make([]uint32, 0, len(b.all))
	for id := range b.all {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		p.finish(b.all[id], 0, err)
	}
	b.moving, b.asking, b.answers = nil, nil, nil
}

// Statuses of recordFetched and recordChecked, in B.
const (
	statusGood = iota
	statusBadKey
)

// serve takes a record that is not a message.
func (p *endpoint) serve(r *record) error {
	b := &p.bulk
	switch r.kind {
	case recordMarker:
		p.prompt = true
	case recordFetch, recordCheck:
		if len(r.payload) != questionBytes || len(b.answers) >= operationsMax {
			return fmt.Errorf("%w: question of %d bytes, %d are unanswered", transport.ErrDamaged, len(r.payload), len(b.answers))
		}
		b.answers = append(b.answers, p.t.answer(r))
	case recordFetched, recordChecked:
		if o := b.all[uint32(r.header.C)]; o != nil && o.asked && o.uncertain == (r.kind == recordChecked) {
			o.answered(p, &r.header)
		}
	default:
	}
	p.list()
	return nil
}

// answer does what a record asks of this rank's memory.
func (t *Transport) answer(r *record) answer {
	id := uint64(binary.LittleEndian.Uint32(r.payload))
	k := transport.Key{Addr: r.header.A, Token: r.header.B}
	a := answer{recordChecked, transport.Header{B: statusGood, C: id}}
	var ok bool
	if r.kind == recordCheck {
		_, ok = t.exposed.slice(k, int(r.header.C), transport.Access(r.payload[4]))
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

// answered takes the answer of the owner.
func (o *operation) answered(p *endpoint, h *transport.Header) {
	switch {
	case h.B != statusGood:
		p.finish(o, 0, transport.ErrBadKey)
	case o.kind == operationFetchAdd:
		p.finish(o, h.A, nil)
	case o.kind == operationPut || o.tries == readTries:
		p.finish(o, 0, errInterrupted)
	default:
		o.tries++
		o.uncertain, o.asked = false, false
		p.bulk.moving = append(p.bulk.moving, o)
	}
}
