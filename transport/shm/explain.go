package shm

import (
	"fmt"
	"sync/atomic"
)

// Known reports whether this rank has possibly used its endpoint to a peer. It returns false if there is no endpoint.
// It also returns false if Prepare has taken a ring before the first message to the peer, the loss of the peer was not
// reported, and no ring to or from the peer has carried a message since then. In all other cases, for example for an
// endpoint that Explain has made, it returns true.
func (t *Transport) Known(peer int) bool {
	slot := t.slot(peer)
	if slot < 0 || t.endpoints[slot] == nil {
		return false
	}
	e, l := t.endpoints[slot], t.lanes[slot]
	return !e.prepared || e.ring.tail > 0 || l != nil && l.pos > 0
}

// Explain returns one line of text that says how messages and bulk data go to a peer. If
// process_vm_readv is not used, the text contains the reason. If the peer runs, and no operation has
// yet probed whether the peer's private memory can be read, Explain makes the probe.
func (t *Transport) Explain(peer int) string {
	if err := t.Reach(peer); err != nil {
		return err.Error()
	}
	e := t.endpoint(t.slot(peer))
	lane := "inbox"
	if e.ring.words != nil {
		lane = fmt.Sprintf("ring %d", e.number)
	}
	return fmt.Sprintf("rank %d: shm, lane %s, private memory %s, arena mapped", peer, lane, e.privately())
}

// privately returns a text that says how the peer's private memory is read.
func (e *endpoint) privately() string {
	switch {
	case e.t.cfg.DisableCMA:
		return "by staged copy (process_vm_readv: switched off)"
	case e.t.node.locals != nil:
		return "by copy in one process"
	case e.reach.probed: // direct returns the stored result, even if the peer has ended
	case e.down != nil:
		return fmt.Sprintf("not probed before its end (%v)", e.down.Cause)
	case atomic.LoadUint64(e.control.word(offState))&stateMask != stateRunning:
		return "not probed (the rank has not joined, or has left)"
	}
	if e.direct() {
		return "by process_vm_readv (probed)" + e.t.tuner.String()
	}
	return fmt.Sprintf("by staged copy (process_vm_readv: %v)", e.reach.refusal)
}
