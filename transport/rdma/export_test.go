package rdma

import "errors"

// Vanish ends the transport as the death of its process does: no peer hears of it.
func (t *Transport) Vanish() error {
	t.closed = true
	t.commands.end()
	return errors.Join(t.stage.strike(), t.adapter.Close())
}
