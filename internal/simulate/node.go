package simulate

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gorun-hpc/gorun/internal/localjob"
	"github.com/gorun-hpc/gorun/transport"
)

// node is one rank's transport. The network's lock guards its fields.
type node struct {
	net     *Network
	in      *generation
	rank    int
	random  *rand.Rand
	sleeper *sleeper
	ways    []endpoint
	peers   []peer

	dead, closed bool
	// abandoned says that the rank has left without a word. closed is set, too.
	abandoned  bool
	armed      bool
	waiting    int // messages that have arrived
	losses     int // of peers, to be reported
	connecting int // connections under way

	operations []*operation // of this rank, under way
	requests   []*operation // of others, that wait for a Poll of this rank
	exposed    map[uint64]*region
	exposures  uint64
}

var _ localjob.Transport = (*node)(nil)

// peer is what a rank knows of another.
type peer struct {
	cause    error // why it is down
	reported bool
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

// busy reports whether a Poll would find something.
func (d *node) busy() bool {
	return !d.dead && (d.waiting > 0 || d.losses > 0 || len(d.requests) > 0) ||
		slices.ContainsFunc(d.operations, func(op *operation) bool { return op.done })
}

// ring wakes the rank if Arm asked for it.
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

// markDown notes a loss, once.
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
	d.closed = true
	for _, op := range d.requests {
		op.end(transport.ErrClosed)
	}
	d.requests, d.operations = nil, nil
	clear(d.exposed)
	return nil
}

// noticed is the longest time until others notice that a rank has left without a word.
const noticed = 10 * time.Millisecond

// errLeft is how the others see that: their connections to it end.
var errLeft = errors.New("connection reset by the peer")

// Abandon is Close without a word: nobody reads or writes memory for the rank any more, what others
// ask for stays without an answer, and they see the loss of their connections.
func (d *node) Abandon() error {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	d.closed, d.abandoned = true, true
	for _, op := range d.operations {
		op.done = true
	}
	d.requests, d.operations = nil, nil
	clear(d.exposed)
	if !d.dead {
		d.vanish(errLeft, noticed, false)
	}
	return nil
}

// failure makes the error of one operation.
func (d *node) failure(op string, peer int, err error) error {
	return &transport.OpError{Op: op, Transport: d.Name(), Peer: peer, Err: err}
}
