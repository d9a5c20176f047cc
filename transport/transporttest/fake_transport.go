package transporttest

import (
	"math/rand/v2"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
)

// peerState is what one rank knows about the loss of another rank.
type peerState struct {
	// cause is the cause of the loss, or nil if the peer is not lost.
	cause error
	// reported is true once the loss is reported to the handler, or is about to be.
	reported bool
}

// alive reports whether no loss of the peer is known.
func (p peerState) alive() bool { return p.cause == nil }

// fakeTransport is the transport of one rank of a Fake. The fabric's lock guards its fields. The exceptions are
// guard, which is safe for concurrent use, and the fields that never change: fabric, rank, arena, sleeper and
// the slice endpoints.
type fakeTransport struct {
	fabric  *Fake
	rank    int
	guard   guard
	arena   *fakeArena
	sleeper *transport.ChannelSleeper

	random    *rand.Rand
	endpoints []fakeEndpoint
	peers     []peerState
	// exposed maps the Token of a key to the exposed memory. exposures counts all exposures, including those
	// that have ended.
	exposed   map[uint64]*region
	exposures uint64
	// operations holds the operations of this rank that have not completed. requests
	// holds the operations of other ranks that wait for a Poll of this rank.
	operations, requests []*operation
	// polls counts the calls of Poll. All delays are counted in Polls.
	polls uint64
	// storm is a value of polls: operations get ErrAgain until polls reaches storm.
	storm uint64
	// waiting is the number of messages in the lanes to this rank. losses is the number of peers whose loss is
	// not reported yet.
	waiting, losses int
	// cursor is the peer from which the last message was taken. The method next begins its search
	// with the peer after cursor.
	cursor int
	// payload is the buffer of the last delivered message. The lane of the next delivered message reuses it.
	payload []byte
	armed   bool
	closed  bool
	killed  bool // Fake.Kill has closed the transport, and Close was not called yet
}

var _ transport.Transport = (*fakeTransport)(nil)

// Name implements transport.Transport.
func (t *fakeTransport) Name() string { return "fake" }

// Reach implements transport.Transport. A rank does not reach itself, because the engine itself delivers
// messages from a rank to the same rank.
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

// Arm implements transport.Transport. When the transport rings an armed rank, the ring also disarms the
// transport.
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

// busy reports whether a Poll would have something to do, now or after a few more Polls.
// Messages and operations in flight count, because they become due only by Polls of this rank. An
// operation that waits for a Poll of its target does not count.
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

// wake rings the sleeper if the transport is armed, and disarms the transport.
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

// GiveUp implements transport.Transport. The ranks of a Fake have no common memory, so it makes no difference whether
// the peer lives.
func (t *fakeTransport) GiveUp(peer int, cause error) { t.MarkDown(peer, cause) }

// markDown records the loss of a peer, if no loss of the peer is recorded yet.
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

// Close implements transport.Transport. Messages that this rank has sent still arrive.
// Messages to this rank are discarded. Operations of peers on its memory end with ErrClosed if they were not
// executed before.
func (t *fakeTransport) Close() error {
	t.guard.enterAlone("Close")
	defer t.guard.leave(guardIdle)
	t.fabric.mu.Lock()
	defer t.fabric.mu.Unlock()
	if t.killed {
		t.killed = false
		return nil
	}
	if t.closed {
		return t.fail("close", -1, transport.ErrClosed)
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
