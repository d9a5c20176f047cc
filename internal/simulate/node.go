package simulate

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/transport"
)

// node is the transport of one rank in one generation. The network's lock guards its fields.
type node struct {
	net     *Network
	in      *generation
	rank    int
	random  *rand.Rand
	sleeper *sleeper
	ways    []endpoint
	peers   []peer

	dead, closed bool
	// abandoned is true after Abandon, by which the rank leaves without notice to its peers. If abandoned is
	// true, closed is true, too.
	abandoned  bool
	armed      bool
	waiting    int // messages that have arrived and were not delivered to the engine yet
	losses     int // losses of peers that were not reported to the engine yet
	connecting int // connections that are being established

	operations []*operation // operations of this rank that are under way
	requests   []*operation // operations of other ranks that wait for a Poll of this rank
	exposed    map[uint64]*region
	exposures  uint64
}

var _ localjob.Transport = (*node)(nil)

// peer is the state of a peer as its rank knows it.
type peer struct {
	cause    error // cause of the loss of the peer, nil while the peer is up
	reported bool  // the loss was reported to the engine
}

func newNode(g *generation, rank, n int, r *rand.Rand) *node {
	d := &node{net: g.net, in: g, rank: rank, random: r, peers: make([]peer, n), ways: make([]endpoint, n), exposed: map[uint64]*region{}}
	d.sleeper = &sleeper{node: d}
	for to := range n {
		d.ways[to] = endpoint{from: d, peer: to}
	}
	return d
}

// Name implements transport.Transport.
func (d *node) Name() string { return "simulated" }

// Reach implements transport.Transport.
func (d *node) Reach(peer int) error {
	if peer < 0 || peer >= len(d.peers) || peer == d.rank {
		return d.failure("reach", peer, transport.ErrNotSupported)
	}
	return nil
}

// Endpoint implements transport.Transport.
func (d *node) Endpoint(peer int) (transport.Endpoint, error) {
	if err := d.Reach(peer); err != nil {
		return nil, err
	}
	return &d.ways[peer], nil
}

// Arm implements transport.Transport.
func (d *node) Arm() bool {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	d.armed = !d.busy()
	return d.armed
}

// Disarm implements transport.Transport.
func (d *node) Disarm() {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	d.armed = false
}

// busy reports whether a Poll would return events.
func (d *node) busy() bool {
	return !d.dead && (d.waiting > 0 || d.losses > 0 || len(d.requests) > 0) ||
		slices.ContainsFunc(d.operations, func(op *operation) bool { return op.done })
}

// ring wakes the rank if it is armed, and disarms it.
func (d *node) ring() {
	if d.armed {
		d.armed = false
		d.sleeper.Ring()
	}
}

// MarkDown implements transport.Transport.
func (d *node) MarkDown(peer int, cause error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	d.markDown(peer, cause)
}

// GiveUp implements transport.Transport. Nodes have no common memory, so it makes no difference whether the peer lives.
func (d *node) GiveUp(peer int, cause error) { d.MarkDown(peer, cause) }

// markDown records the loss of a peer and wakes the rank. It does nothing if the loss is recorded already.
func (d *node) markDown(peer int, cause error) {
	if d.dead || d.closed || d.peers[peer].cause != nil {
		return
	}
	d.net.record.add(d.net.now(), "%d hears that %d is down", d.rank, peer)
	d.peers[peer].cause = cause
	d.losses++
	d.ring()
}

// Close implements transport.Transport.
func (d *node) Close() error {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	requests := d.requests
	if err := d.leave(); err != nil {
		return err
	}
	for _, op := range requests {
		op.end(op.issuer.failure(op.name, d.rank, transport.ErrClosed))
	}
	return nil
}

// leave does the common work of Close and Abandon. Of any number of calls of both, only the first succeeds.
func (d *node) leave() error {
	if d.closed {
		return d.failure("close", -1, transport.ErrClosed)
	}
	d.closed = true
	for _, op := range d.operations {
		op.done = true // so that it accesses no memory any more
	}
	d.requests, d.operations = nil, nil
	clear(d.exposed)
	return nil
}

// noticed is the longest time from the arrival of the last message of a rank that has called Abandon until
// another rank notices the loss.
const noticed = 10 * time.Millisecond

// errLeft is the cause of the loss that the other ranks notice after Abandon, because their connections to
// the rank end.
var errLeft = errors.New("connection reset by the peer")

// Abandon closes the transport without notice. After Abandon, no operation of this rank accesses memory. Gets
// and Puts of other ranks that access memory of this rank get no response. They end when these ranks notice
// the loss of their connections.
func (d *node) Abandon() error {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	if err := d.leave(); err != nil {
		return err
	}
	d.abandoned = true
	if !d.dead {
		d.vanish(errLeft, noticed, false)
	}
	return nil
}

// failure returns the OpError of one operation.
func (d *node) failure(op string, peer int, err error) error {
	return &transport.OpError{Op: op, Transport: d.Name(), Peer: peer, Err: err}
}
