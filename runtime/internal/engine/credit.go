package engine

import (
	"context"
	"slices"
)

// Costs and sizes of the flow control, in bytes.
const (
	// messageOverhead is the cost of every eager message besides its bytes. It stands
	// for the memory of the record that the receiver needs to store an unexpected message.
	messageOverhead = 448
	// firstWindow is the largest initial window of a peer, see firstWindowOf.
	firstWindow = 256 << 10
	// maxWindow is the largest window. It is below 1<<31, because limits are compared mod 2^32.
	maxWindow = 1 << 30
	// defaultBudget is used for a Config.UnexpectedBudget of 0 or less.
	defaultBudget = 64 << 20
)

// eagerCost is the credit that an eager message of n bytes consumes.
func eagerCost(n int) uint32 { return uint32(n) + messageOverhead }

// outgoing is the sender's state of the credit that one peer has granted, for eager messages or for
// the actor messages of one stream. The counters are cumulative, mod 2^32.
type outgoing struct {
	sent  uint32 // cost of all these messages that were sent
	limit uint32 // upper bound of sent
}

// fits reports whether the credit suffices for a message of this cost.
func (o *outgoing) fits(cost uint32) bool { return int32(o.limit-o.sent-cost) >= 0 }

// raise handles the limit in a frame of the peer. If this limit is higher than o.limit, raise sets
// o.limit to it. raise returns false if the limit would allow more than maxWindow bytes, which no
// correct peer does.
func (o *outgoing) raise(limit uint32) bool {
	if int32(limit-o.limit) > 0 {
		o.limit = limit
	}
	return limit-o.sent <= maxWindow || int32(limit-o.sent) < 0
}

// incoming is the receiver's state of the credit that it has granted to one peer.
type incoming struct {
	arrived  uint32 // cost of all eager messages that arrived
	returned uint32 // cost of the eager messages that were matched and copied out, or dropped
	window   uint32 // limit of arrived - returned
	told     uint32 // the last limit that was sent to the peer
}

// limit returns the upper bound of outgoing.sent at the peer.
func (i *incoming) limit() uint32 { return i.returned + i.window }

// due reports whether a frame should be sent whose only purpose is the new limit. Such a frame is due when
// the limit has risen by at least half of the window since a limit was last sent.
func (i *incoming) due() bool { return i.limit()-i.told >= i.window/2 && i.limit() != i.told }

// admit accounts for an arriving eager message. It returns false if the peer had no credit
// for it.
func (i *incoming) admit(cost uint32) bool {
	i.arrived += cost
	return i.arrived-i.returned <= i.window
}

// budget is the part of a rank's memory for unexpected messages that is not yet promised to a peer.
type budget struct{ free int64 }

// firstWindowOf returns the initial window of every peer. total is the budget in bytes. All initial
// windows together take at most half of it.
func firstWindowOf(total int64, size int) uint32 {
	return uint32(min(firstWindow, total/int64(2*size)))
}

// widen roughly doubles the window of a peer that ran out of credit, as far as the budget allows.
func (b *budget) widen(i *incoming) {
	more := min(int64(i.window)+messageOverhead, b.free, maxWindow-int64(i.window))
	if more > 0 {
		b.free -= more
		i.window += uint32(more)
	}
}

// regain takes back the part of the window of a lost peer that has become unused. At the loss, this is the part that
// no unexpected message of the peer uses. Later it is the cost of each of these messages, when the message is
// received or dropped. The window of the peer is then 0, and told is the limit up to which regain has taken back.
func (b *budget) regain(i *incoming) {
	b.free += int64(int32(i.limit() - i.told))
	i.told = i.limit()
}

// AwaitCredit waits for a stream that had no credit for an actor message. It returns when the
// stream has credit again or is closed, or when its peer is down. The argument what and the errors
// are the same as those of Await.
func (e *Engine) AwaitCredit(l *Stream, what string) error {
	e.lock()
	defer e.unlock()
	e.token.Called()
	w := e.newWaiter()
	defer e.freeWaiter(w)
	w.what, w.stream = what, l
	e.crediting = append(e.crediting, w)
	var err error
	for err == nil && l.wanted && !l.closed && l.peer.down == nil {
		w.fired = false
		err = e.wait(context.Background(), w)
	}
	i := slices.Index(e.crediting, w)
	e.crediting = slices.Delete(e.crediting, i, i+1)
	return err
}

// credited ends the waits for the credit of l. It is called when l has credit again, or when l will
// never have credit again.
func (e *Engine) credited(l *Stream) {
	for _, w := range e.crediting {
		if w.stream == l && !w.fired {
			e.fire(w)
		}
	}
}
