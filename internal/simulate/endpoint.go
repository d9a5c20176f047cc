package simulate

import (
	"time"

	"github.com/gorun-hpc/gorun/transport"
)

// endpoint is the endpoint of one rank for a peer, which the rank's engine uses.
type endpoint struct {
	from  *node
	peer  int
	storm time.Duration // until this time, operations are refused with ErrAgain
}

var _ transport.Endpoint = (*endpoint)(nil)

// pair returns the lane from the rank to the peer.
func (e *endpoint) pair() *pair { return e.from.in.pair(e.from.rank, e.peer) }

// Caps implements transport.Endpoint.
func (e *endpoint) Caps() transport.Caps {
	d := e.from
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	c := &d.net.conditions
	caps := transport.Caps{MaxEager: c.MaxEager, EagerBest: c.EagerBest, EagerBoth: c.EagerBest / 2, CostlySend: c.Batched}
	if e.pair().stands {
		caps.Get, caps.Put = c.Get, c.Put
		if c.Get {
			caps.MaxReads = c.MaxReads
		}
	}
	return caps
}

// admit returns nil if an operation may begin, else the error with which the operation is refused. The caller
// holds the network's lock.
func (e *endpoint) admit(op string) error {
	d := e.from
	c, p, now := &d.net.conditions, e.pair(), d.net.now()
	other := d.in.ranks[e.peer]
	switch state := d.peers[e.peer]; {
	case d.closed || other.closed && !other.abandoned:
		return d.failure(op, e.peer, transport.ErrClosed)
	case state.reported:
		return d.failure(op, e.peer, &transport.PeerDown{Peer: e.peer, Cause: state.cause})
	case d.dead:
		return transport.ErrAgain
	}
	p.connect()
	if !p.stands || now < p.broken || now < e.storm {
		return transport.ErrAgain
	}
	if c.AgainRate > 0 && Chance(p.random, c.AgainRate) {
		e.storm = now + Within(p.random, c.AgainFor)
		return transport.ErrAgain
	}
	return nil
}

// Send implements transport.Endpoint.
func (e *endpoint) Send(h transport.Header, payload []byte) error {
	d := e.from
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	if len(payload) > d.net.conditions.MaxEager {
		return d.failure("send", e.peer, transport.ErrTooLong)
	}
	if err := e.admit("send"); err != nil {
		return err
	}
	p := e.pair()
	if !p.room() {
		return transport.ErrAgain
	}
	p.send(h, payload)
	return nil
}

// Get implements transport.Endpoint.
func (e *endpoint) Get(dst []byte, src transport.Key, token uint64) error {
	return e.start(&operation{name: "get", access: transport.AccessRead, buffer: dst, key: src, token: token})
}

// Put implements transport.Endpoint.
func (e *endpoint) Put(src []byte, dst transport.Key, token uint64) error {
	return e.start(&operation{name: "put", access: transport.AccessWrite, buffer: src, key: dst, token: token})
}

// FetchAdd implements transport.Endpoint. It is not supported, because the engine does not use it.
func (e *endpoint) FetchAdd(transport.Key, uint64, uint64) error {
	return e.from.failure("fetch-add", e.peer, transport.ErrNotSupported)
}

// Map implements transport.Endpoint. It is not supported, because each rank is a node of its own.
func (e *endpoint) Map(transport.Key, int) ([]byte, error) {
	return nil, e.from.failure("map", e.peer, transport.ErrNotSupported)
}

// start posts a one-sided operation.
func (e *endpoint) start(op *operation) error {
	d := e.from
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	c := &d.net.conditions
	if op.access == transport.AccessRead && !c.Get || op.access == transport.AccessWrite && !c.Put {
		return d.failure(op.name, e.peer, transport.ErrNotSupported)
	}
	if err := e.admit(op.name); err != nil {
		return err
	}
	if op.access == transport.AccessRead && d.reads(e.peer) >= c.MaxReads {
		return transport.ErrAgain
	}
	op.issuer, op.peer = d, e.peer
	d.operations = append(d.operations, op)
	op.begin(e.pair())
	return nil
}

// reads returns the number of Gets from a peer that are under way.
func (d *node) reads(peer int) int {
	n := 0
	for _, op := range d.operations {
		if op.peer == peer && op.access == transport.AccessRead {
			n++
		}
	}
	return n
}
