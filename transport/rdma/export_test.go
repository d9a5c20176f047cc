package rdma

import "errors"

// Vanish ends the transport as the death of its process does: no peer hears of it.
func (t *Transport) Vanish() error {
	t.closed = true
	t.commands.end()
	return errors.Join(t.supervision.stop(), t.adapter.Close())
}

// InFlight returns the Sends to a peer of which the adapter is not known to be done,
// and how many of them its queue has room for besides control frames.
func (t *Transport) InFlight(peer int) (sends, room int) {
	if l := t.peers[peer].link; l != nil {
		sends = int(l.posted - l.done)
	}
	return sends, int(t.measure.frames)
}

// Receives returns how many receives are posted, and how many connections need.
func (t *Transport) Receives() (posted, needed int) { return t.receives.queue.Len(), t.granted() }

// SendMemory returns how many bytes of it are in use, and how many frames to a peer are not
// acknowledged.
func (t *Transport) SendMemory(peer int) (used, frames int) {
	used = t.sends.total
	for class, list := range t.sends.free {
		used -= len(list) * t.sends.sizes[class]
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
