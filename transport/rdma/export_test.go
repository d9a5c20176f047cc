package rdma

import "errors"

// Vanish ends the transport as the death of its process does: no peer hears of it.
func (t *Transport) Vanish() error {
	t.closed = true
	t.commands.end()
	return errors.Join(t.stage.strike(), t.adapter.Close())
}

// InFlight returns the Sends to a peer of which the adapter is not known to be done,
// and how many of them its queue has room for besides control frames.
func (t *Transport) InFlight(peer int) (sends, room int) {
	if l := t.peers[peer].link; l != nil {
		sends = int(l.posted - l.done)
	}
	return sends, int(t.measure.frames)
}
