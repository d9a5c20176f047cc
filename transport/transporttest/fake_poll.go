package transporttest

import (
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/transport"
)

// Poll implements transport.Transport.
func (t *fakeTransport) Poll(h transport.Handler, budget int) (int, error) {
	if budget <= 0 {
		panic(fmt.Sprintf("transporttest: rank %d: Poll with a budget of %d", t.rank, budget))
	}
	t.guard.enterAlone("Poll")
	defer t.guard.leave(guardIdle)
	t.fabric.mu.Lock()
	if t.closed {
		t.fabric.mu.Unlock()
		return 0, t.fail("poll", -1, transport.ErrClosed)
	}
	t.polls++
	events := t.serve()
	idle := t.losses == 0 && t.waiting == 0 && len(t.operations) == 0
	completeFirst := !idle && t.random.IntN(2) == 0
	t.fabric.mu.Unlock()
	if idle {
		return events, nil
	}
	lost, delivered := t.reportLosses(h, budget)
	events += lost + delivered
	if completeFirst {
		events += t.complete(h)
	}
	events += t.deliver(h, budget-delivered)
	if !completeFirst {
		events += t.complete(h)
	}
	return events, nil
}

// serve carries out the operations of other ranks that wait for a Poll of this rank. It returns their number.
func (t *fakeTransport) serve() int {
	n := len(t.requests)
	for _, op := range t.requests {
		op.carry(t)
		op.due = op.issuer.polls + uint64(op.issuer.upTo(t.fabric.options.DelayPolls))
		op.issuer.wake()
	}
	clear(t.requests)
	t.requests = t.requests[:0]
	return n
}

// deliver delivers up to budget messages that are due, one message of each peer in turn. It returns
// their number.
func (t *fakeTransport) deliver(h transport.Handler, budget int) int {
	n := 0
	for n < budget {
		t.fabric.mu.Lock()
		peer := t.next()
		if peer < 0 {
			t.fabric.mu.Unlock()
			break
		}
		t.hand(h, peer)
		n++
	}
	return n
}

// next returns a peer from which a message is due, or -1.
func (t *fakeTransport) next() int {
	if t.waiting == 0 || t.closed {
		return -1
	}
	for range t.peers {
		t.cursor = (t.cursor + 1) % len(t.peers)
		if t.fabric.lane(t.cursor, t.rank).ready(t.polls) {
			return t.cursor
		}
	}
	return -1
}

// hand delivers the oldest message of a peer to the handler. Afterwards it overwrites the payload, because the
// handler must not read it any more. The caller holds the fabric's lock; hand releases the lock before it
// returns.
func (t *fakeTransport) hand(h transport.Handler, peer int) {
	header, payload := t.fabric.lane(peer, t.rank).pop(t.payload)
	t.payload = payload
	t.waiting--
	t.fabric.mu.Unlock()
	t.guard.call()
	h.Arrive(peer, header, payload)
	t.guard.handed()
	spoil(payload)
}

// complete delivers the completions of the operations that are due. It returns their number.
func (t *fakeTransport) complete(h transport.Handler) int {
	n := 0
	for {
		t.fabric.mu.Lock()
		op := t.due()
		if op == nil {
			t.fabric.mu.Unlock()
			return n
		}
		t.end(h, op)
		n++
	}
}

// due removes and returns an operation that may complete, or returns nil. If the operation needs no Poll of its
// target, due carries it out.
func (t *fakeTransport) due() *operation {
	if t.closed {
		return nil
	}
	for i, op := range t.operations {
		if op.due > t.polls || !op.alone && !op.carried {
			continue
		}
		if !op.carried {
			op.carry(t.fabric.ranks[op.peer])
		}
		t.operations = slices.Delete(t.operations, i, i+1)
		return op
	}
	return nil
}

// end delivers the completion of one operation. The caller holds the fabric's lock; end releases the lock before
// it returns.
func (t *fakeTransport) end(h transport.Handler, op *operation) {
	op.done = true
	t.fabric.mu.Unlock()
	t.guard.call()
	h.Completed(op.peer, op.token, op.value, op.err)
	t.guard.handed()
}

// reportLosses reports every peer whose loss is not reported yet. It decides at random whether it
// first delivers the messages that are in flight from the peer, as far as the budget permits. Then it
// completes the operations on the peer, and reports the loss. It returns the number of completions
// and losses, and the number of messages.
func (t *fakeTransport) reportLosses(h transport.Handler, budget int) (events, messages int) {
	for peer := range t.peers {
		t.fabric.mu.Lock()
		state := t.peers[peer]
		if state.alive() || state.reported {
			t.fabric.mu.Unlock()
			continue
		}
		drain := t.random.IntN(2) == 0
		t.fabric.mu.Unlock()
		if drain {
			messages += t.drain(h, peer, budget-messages)
		}
		events += t.reportDown(h, peer, state.cause)
	}
	return events, messages
}

// drain delivers up to budget messages of a peer, whether or not they are due. It returns their number.
func (t *fakeTransport) drain(h transport.Handler, peer, budget int) int {
	n := 0
	for n < budget {
		t.fabric.mu.Lock()
		if t.fabric.lane(peer, t.rank).count == 0 {
			t.fabric.mu.Unlock()
			break
		}
		t.hand(h, peer)
		n++
	}
	return n
}

// reportDown marks the loss of a peer as reported, so that no operation on the peer can begin any more. It
// completes the operations on the peer with an error, discards the messages from the peer, and reports the loss.
// It returns the number of events.
func (t *fakeTransport) reportDown(h transport.Handler, peer int, cause error) int {
	down := &transport.PeerDown{Peer: peer, Cause: cause}
	t.fabric.mu.Lock()
	t.peers[peer].reported = true
	t.losses--
	t.fabric.mu.Unlock()
	n := 1
	for {
		t.fabric.mu.Lock()
		i := slices.IndexFunc(t.operations, func(op *operation) bool { return op.peer == peer })
		if i < 0 {
			break
		}
		op := t.operations[i]
		owner := t.fabric.ranks[peer]
		owner.requests = slices.DeleteFunc(owner.requests, func(r *operation) bool { return r == op })
		t.operations = slices.Delete(t.operations, i, i+1)
		op.finish(0, t.fail(op.name, peer, down))
		t.end(h, op)
		n++
	}
	t.waiting -= t.fabric.lane(peer, t.rank).clear()
	t.fabric.mu.Unlock()
	t.guard.call()
	h.Down(down)
	t.guard.handed()
	return n
}
