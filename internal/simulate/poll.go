package simulate

import (
	"slices"

	"github.com/gorun-hpc/gorun/transport"
)

// rubbish is the byte that overwrites the payload of a message after the handler has returned, because the
// handler must not keep the payload.
const rubbish = 0xdb

// Poll implements transport.Transport.
func (d *node) Poll(h transport.Handler, budget int) (int, error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	if d.closed {
		return 0, d.failure("poll", -1, transport.ErrClosed)
	}
	if d.dead {
		return d.complete(h), nil // a dead rank gets only the errors of its operations; they end its goroutines
	}
	if !d.busy() {
		return 0, nil
	}
	events := len(d.requests)
	for _, op := range d.requests {
		op.carry()
	}
	d.requests = nil
	events += d.complete(h)
	for ; budget > 0; budget-- {
		p := d.choose()
		if p == nil {
			break
		}
		d.hand(h, p)
		events++
	}
	for rank := range d.peers {
		if p := &d.peers[rank]; p.cause != nil && !p.reported && len(d.in.pair(rank, d.rank).arrived) == 0 {
			events += d.lose(h, rank)
		}
	}
	return events, nil
}

// choose returns a random lane on which a message has arrived, or nil if there is none.
func (d *node) choose() *pair {
	if d.waiting == 0 || d.dead {
		return nil
	}
	n := len(d.peers)
	for i, first := 0, d.random.IntN(n); i < n; i++ {
		if p := d.in.pair((first+i)%n, d.rank); len(p.arrived) > 0 {
			return p
		}
	}
	return nil
}

// hand passes the oldest message of a lane to the handler.
func (d *node) hand(h transport.Handler, p *pair) {
	m := p.arrived[0]
	p.arrived = p.arrived[1:]
	d.waiting--
	d.call(func() { h.Arrive(p.from.rank, m.header, m.payload) })
	for i := range m.payload {
		m.payload[i] = rubbish
	}
}

// complete reports to the handler all operations that have ended, and returns their number.
func (d *node) complete(h transport.Handler) int {
	n := 0
	for {
		i := slices.IndexFunc(d.operations, func(op *operation) bool { return op.done })
		if i < 0 {
			return n
		}
		op := d.operations[i]
		d.operations = slices.Delete(d.operations, i, i+1)
		d.call(func() { h.Completed(op.peer, op.token, 0, op.err) })
		n++
	}
}

// lose ends the operations of this rank that access the memory of a lost peer. It reports their ends and the
// loss to the handler, and returns the number of these events.
func (d *node) lose(h transport.Handler, rank int) int {
	down := &transport.PeerDown{Peer: rank, Cause: d.peers[rank].cause}
	d.peers[rank].reported = true
	d.losses--
	p := d.in.pair(rank, d.rank)
	p.gone, p.flight = true, nil
	for _, op := range d.operations {
		if op.peer == rank {
			op.end(d.failure(op.name, rank, down))
		}
	}
	n := d.complete(h)
	d.call(func() { h.Down(down) })
	return n + 1
}

// call releases the network's lock during a call of fn, because fn calls the handler.
func (d *node) call(fn func()) {
	d.net.mu.Unlock()
	defer d.net.mu.Lock()
	fn()
}
