package transporttest

import (
	"math/rand/v2"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
)

// peerState is what one rank knows about the loss of another.
type peerState struct {
	// cause is why the peer is down; nil while it is up.
	cause error
	// reported says that the handler has been told.
	reported bool
}

// alive reports whether no loss of the peer is known.
func (p peerState) alive() bool { return p.cause == nil }

// fakeTransport is one rank's side of a Fake. The fabric's lock guards all its
// fields but guard, which guards itself, and those that never change: fabric,
// rank, arena, sleeper and endpoints.
type fakeTransport struct {
	fabric  *Fake
	rank    int
	guard   guard
	arena   *fakeArena
	sleeper *transport.ChannelSleeper

	random    *rand.Rand
	endpoints []fakeEndpoint
	peers     []peerState
	// exposed is keyed by Token; exposures counts all that ever were.
	exposed   map[uint64]*region
	exposures uint64
	// operations are those this rank has under way; requests are those of other
	// ranks that wait for a Poll of this one.
	operations, requests []*operation
	// polls counts the calls of Poll: it is the clock of every delay.
	polls uint64
	// storm is the poll until which operations are refused.
	storm uint64
	// waiting is the number of messages in the lanes to this rank, losses that of
	// the peers whose loss is not reported yet.
	waiting, losses int
	// cursor is the peer whose lane is looked at first.
	cursor int
	// payload is the buffer that is lent to the handler.
	payload []byte
	armed   bool
	closed  bool
}

var _ transport.Transport = (*fakeTransport)(nil)

// Name implements transport.Transport.
func (t *fakeTransport) Name() string { return "fake" }

// Reach implements transport.Transport. A rank does not reach itself: messages
// to oneself are the engine's.
func (t *fakeTransport) Reach(peer int) error {
	if peer < 0 || peer >= len(t.peers) || peer == t.rank {
		return t.fail("reach", peer, transport.ErrNotSupported)
	}
	return nil
}

// Endpoint implements transport.Transport.
func (t *fakeTransport) Endpoint(peer int) (transport.Endpoint, error) {
	defer t.guard.leave(t.guard.enter("Endpoint"))
	if err := t.Reach(peer); err != nil {
		return nil, err
	}
	return &t.endpoints[peer], nil
}

// Arm implements transport.Transport. It is disarmed by the ring it asks for.
func (t *fakeTransport) Arm() bool {
	t.guard.enterAlone("Arm")
	defer t.guard.leave(guardIdle)
	t.fabric.mu.Lock()
	defer t.fabric.mu.Unlock()
	t.armed = !t.closed && !t.busy()
	return t.armed
}

// Disarm implements transport.Transport.
func (t *fakeTransport) Disarm() {
	defer t.guard.leave(t.guard.enter("Disarm"))
	t.fabric.mu.Lock()
	defer t.fabric.mu.Unlock()
	t.armed = false
}

// busy reports whether a Poll would have something to do, now or after a few
// more Polls. Time passes only by Polls, so what is in flight counts.
func (t *fakeTransport) busy() bool {
	if t.waiting > 0 || t.losses > 0 || len(t.requests) > 0 {
		return true
	}
	for _, op := range t.operations {
		if op.carried || op.alone {
			return true
		}
	}
	for i := range t.endpoints {
		if t.endpoints[i].connecting() {
			return true
		}
	}
	return false
}

// wake rings the sleeper if Arm asked for it.
func (t *fakeTransport) wake() {
	if t.armed {
		t.armed = false
		t.sleeper.Ring()
	}
}

// MarkDown implements transport.Transport.
func (t *fakeTransport) MarkDown(peer int, cause error) {
	t.fabric.mu.Lock()
	defer t.fabric.mu.Unlock()
	t.markDown(peer, cause)
}

// markDown notes a loss, once.
func (t *fakeTransport) markDown(peer int, cause error) {
	if t.closed || !t.peers[peer].alive() {
		return
	}
	if cause == nil {
		cause = transport.ErrPeerDown
	}
	t.peers[peer].cause = cause
	t.losses++
	t.wake()
}

// Close implements transport.Transport. What this rank has sent still arrives;
// what was sent to it is gone, and operations on it end with ErrClosed.
func (t *fakeTransport) Close() error {
	t.guard.enterAlone("Close")
	defer t.guard.leave(guardIdle)
	t.fabric.mu.Lock()
	defer t.fabric.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	for _, op := range t.requests {
		op.finish(0, transport.ErrClosed)
	}
	for _, peer := range t.fabric.ranks {
		t.waiting -= t.fabric.lane(peer.rank, t.rank).clear()
		for _, op := range peer.operations {
			if op.peer == t.rank && !op.carried {
				op.finish(0, transport.ErrClosed)
			}
		}
		peer.requests = slices.DeleteFunc(peer.requests, func(op *operation) bool { return op.issuer == t })
		peer.wake()
	}
	t.requests, t.operations = nil, nil
	clear(t.exposed)
	return nil
}

// fail makes the error of one operation.
func (t *fakeTransport) fail(op string, peer int, err error) error {
	return &transport.OpError{Op: op, Transport: t.Name(), Peer: peer, Err: err}
}
