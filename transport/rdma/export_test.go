package rdma

import (
	"errors"
	"net/netip"
)

// Vanish ends the transport as the death of its process does: no peer hears of it.
func (t *Transport) Vanish() error {
	t.closed = true
	t.commands.end()
	err := t.supervision.stop()
	for _, r := range t.rails {
		err = errors.Join(err, r.adapter.Close())
	}
	return err
}

// InFlight returns the Sends to a peer of which the adapter is not known to be done,
// and how many of them its queue has room for besides control frames.
func (t *Transport) InFlight(peer int) (sends, room int) {
	if l := t.peers[peer].link; l != nil {
		return int(l.posted - l.done), int(l.frames)
	}
	return 0, int(t.measure.frames)
}

// Receives returns how many receives are posted, and how many connections need.
func (t *Transport) Receives() (posted, needed int) {
	return t.rails[0].receives.queue.Len(), t.rails[0].granted()
}

// Address is where the first rail listens.
func (t *Transport) Address() netip.AddrPort { return t.rails[0].listener.Address() }

// ReceiveBytes returns how much memory is registered for receives.
func (t *Transport) ReceiveBytes() int {
	n := 0
	for _, c := range t.rails[0].receives.chunks {
		n += len(c.Bytes())
	}
	return n
}

// SendMemory returns how many bytes of it are in use, and how many frames to a peer are not
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

// HoldBatches takes the clock away from batches: only a message to a peer that has
// answered goes at once, and no timer sends the others.
func (t *Transport) HoldBatches() {
	if t.batches.locked == nil {
		t.UseLock(func(func()) {})
	}
	t.batches.within, t.batches.running = 1<<62, true
}

// Bounces returns how many pieces of the memory to copy through are in use, and how many
// operations and exposures have been copied.
func (t *Transport) Bounces() (lent, copied int) {
	r := t.rails[0].registered
	return r.bounces.total - len(r.bounces.free), r.counts.copied
}

// Registered returns how many parts of the arena are registered, and how often memory was:
// parts of the arena, and memory for one operation.
func (t *Transport) Registered() (parts, lasting, single int) {
	r := t.rails[0].registered
	return len(r.lasting), r.counts.lasting, r.counts.single
}

// Supervised says that the actors of connections were made.
func (t *Transport) Supervised() bool { return t.supervision.supervisor != nil }

// StripeSmall has transfers of at least above bytes striped, whether or not that is faster, and
// sets the length of a trial (stripe.NewJudge) in bytes.
func (t *Transport) StripeSmall(above, trial int) {
	t.stripe = stripeConfig{above: above, chunk: max(above/2, 1), trial: trial}
}

// Striped returns how many bytes of transfers to a peer have gone by side connections, and
// whether there is one.
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

// Connects returns how many connections with a peer have been in use.
func (t *Transport) Connects(peer int) int { return t.peers[peer].connects }
