package simulate

import (
	"slices"

	"github.com/gorun-hpc/gorun/transport"
)

// operation is a Get or a Put that is under way.
type operation struct {
	name   string
	access transport.Access
	issuer *node
	peer   int
	buffer []byte
	key    transport.Key
	token  uint64

	done bool // ended; the next Poll reports the completion
	err  error
}

// begin sends the request to the peer.
func (op *operation) begin(p *pair) {
	net := p.from.net
	p.disturb()
	net.schedule(p, net.now()+p.delay(), func() { op.reach(p) })
}

// reach executes the arrival of the request at the peer.
func (op *operation) reach(p *pair) {
	net := p.from.net
	switch {
	case op.done || p.to.dead || p.to.abandoned: // the loss of the peer will end the operation
	case p.to.closed:
		op.end(op.issuer.failure(op.name, op.peer, transport.ErrClosed))
	case net.now() < p.broken:
		net.schedule(p, p.broken+p.delay(), func() { op.reach(p) })
	case net.conditions.Alone:
		op.carry()
	default:
		p.to.requests = append(p.to.requests, op)
		p.to.ring()
	}
}

// carry copies from or to the peer's memory, and sends the response back to the issuer.
func (op *operation) carry() {
	if op.done {
		return
	}
	d, net := op.issuer, op.issuer.net
	p := d.in.pair(op.peer, d.rank)
	memory, err := d.in.ranks[op.peer].slice(op.key, len(op.buffer), op.access)
	switch {
	case err != nil:
		d.in.fault("rank %d: %s of memory of rank %d that is not exposed", d.rank, op.name, op.peer)
	case op.access == transport.AccessRead:
		copy(op.buffer, memory)
	default:
		copy(memory, op.buffer)
	}
	net.record.add(net.now(), "%d %s of %d, %d bytes", d.rank, op.name, op.peer, len(op.buffer))
	net.schedule(p, max(net.now(), p.broken)+p.delay(), func() {
		if op.done {
			return
		}
		if err != nil {
			err = d.failure(op.name, op.peer, err)
		}
		op.end(err)
	})
}

// end records the result of the operation, which the issuer's next Poll reports.
func (op *operation) end(err error) {
	if op.done {
		return
	}
	op.done, op.err = true, err
	op.issuer.ring()
}

// region is one exposed slice. base is the address that a Key has for the slice's first byte.
type region struct {
	bytes  []byte
	base   uint64
	access transport.Access
}

// regionAddr is the distance between the base addresses of two exposures.
const regionAddr = 1 << 40

// Expose implements transport.Transport.
func (d *node) Expose(b []byte, access transport.Access) (transport.Key, error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	if d.closed {
		return transport.Key{}, d.failure("expose", -1, transport.ErrClosed)
	}
	d.exposures++
	r := &region{bytes: b, base: d.exposures * regionAddr, access: access}
	d.exposed[d.exposures] = r
	return transport.Key{Addr: r.base, Token: d.exposures}, nil
}

// Conceal implements transport.Transport.
func (d *node) Conceal(k transport.Key) error {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	if d.closed {
		return d.failure("conceal", -1, transport.ErrClosed)
	}
	if d.exposed[k.Token] == nil {
		d.in.fault("rank %d conceals memory that it has not exposed", d.rank)
		return d.failure("conceal", -1, transport.ErrBadKey)
	}
	for _, other := range d.in.ranks {
		live := !d.dead && !other.dead && !other.closed && d.peers[other.rank].cause == nil && other.peers[d.rank].cause == nil
		if live && slices.ContainsFunc(other.operations, func(op *operation) bool {
			return !op.done && op.peer == d.rank && op.key.Token == k.Token
		}) {
			d.in.fault("rank %d conceals memory that rank %d uses", d.rank, other.rank)
		}
	}
	delete(d.exposed, k.Token)
	return nil
}

// slice returns the n bytes of memory that a key names. It returns an error if the region does not allow the
// access.
func (d *node) slice(k transport.Key, n int, access transport.Access) ([]byte, error) {
	r := d.exposed[k.Token]
	if r == nil || r.access&access == 0 || k.Addr < r.base {
		return nil, transport.ErrBadKey
	}
	off, size := k.Addr-r.base, uint64(len(r.bytes))
	if off > size || uint64(n) > size-off {
		return nil, transport.ErrBadKey
	}
	return r.bytes[off : off+uint64(n)], nil
}
