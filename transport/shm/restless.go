package shm

import "sync/atomic"

// restless reports whether bulk operations can advance without an arrival.
func (t *Transport) restless() bool {
	if len(t.bulk.serves) > 0 || len(t.bulk.helps) > 0 {
		return true
	}
	for _, op := range t.bulk.ops {
		if !op.waiting || op.finished || t.canAsk(op) {
			return true
		}
	}
	return false
}

// canAsk reports whether an operation has no piece in flight although the next Poll can ask for one. The last Poll
// did not ask because it had copied pollBytes before, or because the buffers became free only after the step of the
// operation.
func (t *Transport) canAsk(op *bulkOp) bool {
	if !op.staged || op.pieces > 0 || op.e.blocked {
		return false
	}
	for k := range t.bulk.tickets {
		if tk := &t.bulk.tickets[k]; tk.op == nil && !t.withheld(tk, k) {
			return true
		}
	}
	return false
}

// answered reports whether an owner has written a ticket that is in use or that is withheld. An operation
// may wait for the buffer of a withheld ticket.
func (t *Transport) answered() bool {
	for k := range t.bulk.tickets {
		tk := &t.bulk.tickets[k]
		if tk.op == nil {
			if tk.lost != nil && !t.withheld(tk, k) {
				return true
			}
			continue
		}
		if code := atomic.LoadUint64(ticketWord(t.control, k)) & codeMask; code == codeDone || code == codeBadKey {
			return true
		}
	}
	return false
}
