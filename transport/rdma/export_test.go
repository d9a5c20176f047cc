package rdma

import (
	"errors"
	"net/netip"
)

// Vanish ends the transport as the death of its process does: no peer gets a BYE.
func (t *Transport) Vanish() error {
	t.closed = true
	t.commands.end()
	err := t.supervision.stop()
	for _, r := range t.rails {
		err = errors.Join(err, r.adapter.Close())
	}
	return err
}

// InFlight returns two numbers for a peer: the Sends that the adapter has not reported as complete, and the
// Sends for which the send queue has room. The room for control frames does not count.
func (t *Transport) InFlight(peer int) (sends, room int) {
	if l := t.peers[peer].link; l != nil {
		return int(l.posted - l.done), int(l.frames)
	}
	return 0, int(t.measure.frames)
}

// Receives returns the number of posted receives and the number of receives that the connections need.
func (t *Transport) Receives() (posted, needed int) {
	return t.rails[0].receives.queue.Len(), t.rails[0].granted()
}

// Address returns the address at which the first rail listens.
func (t *Transport) Address() netip.AddrPort { return t.rails[0].listener.Address() }

// ReceiveBytes returns the number of bytes that are registered for receives.
func (t *Transport) ReceiveBytes() int {
	n := 0
	for _, c := range t.rails[0].receives.chunks {
		n += len(c.Bytes())
	}
	return n
}

// SendMemory returns how many bytes of send memory are in use, and how many frames to a peer are not
// acknowledged.
func (t *Transport) SendMemory(peer int) (used, frames int) {
	for _, r := range t.rails {
		used += r.sends.total
		for class, list := range r.sends.free {
			used -= len(list) * r.sends.sizes[class]
		}
	}
	return used, t.peers[peer].flow.Unacknowledged()
}

// HoldBatches makes batches independent of the clock. After the call, Send sends a message at once only if the
// peer has sent something since the last message that was sent at once. No timer sends the other messages.
func (t *Transport) HoldBatches() {
	if t.batches.locked == nil {
		t.UseLock(func(func()) {})
	}
	t.batches.within, t.batches.running = 1<<62, true
}

// Bounces returns how many pieces (type bounces) are in use, and how many operations and exposures have been copied
// through pieces.
func (t *Transport) Bounces() (lent, copied int) {
	r := t.rails[0].registered
	return r.bounces.total - len(r.bounces.free), r.counts.copied
}

// Registered returns the number of registered parts of the arena, how often parts of the arena were registered,
// and how often memory was registered for one operation.
func (t *Transport) Registered() (parts, lasting, single int) {
	r := t.rails[0].registered
	return len(r.lasting), r.counts.lasting, r.counts.single
}

// Busy reports whether the next Poll continues work of an endpoint.
func (t *Transport) Busy() bool { return len(t.busy) > 0 }

// Commanded reports whether the next Poll executes a command of another goroutine.
func (t *Transport) Commanded() bool { return t.commands.news.Load() }

// Supervised reports whether the actors of connections were started.
func (t *Transport) Supervised() bool { return t.supervision.supervisor != nil }

// StripeSmall makes the transport stripe all transfers of at least above bytes, whether or not striping is
// faster. trial is the length in bytes of a trial (stripe.NewJudge).
func (t *Transport) StripeSmall(above, trial int) {
	t.stripe = stripeConfig{above: above, chunk: max(above/2, 1), trial: trial}
}

// Striped returns how many bytes of this rank's Gets and Puts with a peer have moved on side connections, and
// whether there is a side connection now.
func (t *Transport) Striped(peer int) (bytes int, up bool) {
	p := t.peers[peer]
	if p == nil || p.side.judge == nil {
		return 0, false
	}
	return p.side.carried, p.side.link != nil
}

// LoseSide ends the side connection to a peer at this end.
func (t *Transport) LoseSide(peer int) {
	if l := t.peers[peer].side.link; l != nil {
		l.failed(t, errors.New("lost by the test"))
	}
}

// Connects returns how many connections with a peer have been in use so far.
func (t *Transport) Connects(peer int) int { return t.peers[peer].connects }
