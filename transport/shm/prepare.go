package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/internal/hugepages"
)

// On a small node, every pair of ranks can have a ring in each direction. Before the first message,
// the lanes move from the inbox to the rings, and the pages of the rings are allocated. A page fault
// takes longer than a hundred messages (20 to 60 us, measured on a virtual machine). The first lap
// of a ring causes a page fault per page (64) on either side. On a larger node pages are allocated when
// they are touched, because it is not known which pairs will exchange messages.

// small reports whether the ranks are processes that use this transport, and every pair of ranks of the
// node can have a ring.
func (t *Transport) small() bool {
	return t.node.locals == nil && !t.cfg.Alone && t.node.ranks-1 <= ringsPerRank
}

// fewRanks is the maximum number of ranks of a node on which the pages of the staging buffers are
// also allocated at the start. The buffers take half a mebibyte for each rank. With eight ranks,
// allocating them would take a seventh of the time of the job's start.
const fewRanks = 4

// few reports whether the node is small and has 2 to fewRanks ranks.
func (t *Transport) few() bool {
	return t.small() && t.node.ranks > 1 && t.node.ranks <= fewRanks
}

// Partners returns the other ranks of a small node. This rank can prepare a ring with each of them
// before the first message. If the node is not small (see small), Partners returns no ranks.
func (t *Transport) Partners() []int {
	if !t.small() {
		return nil
	}
	var partners []int
	for slot, peer := range t.cfg.Peers {
		if slot != t.cfg.LocalRank {
			partners = append(partners, peer)
		}
	}
	return partners
}

// touch allocates the pages of this rank's control area that the peers of a small node will use.
func (t *Transport) touch() {
	if t.small() && t.node.ranks > 1 {
		hugepages.FaultIn(t.control.bytes[:offRings+(t.node.ranks-1)*int(t.node.ring)], true)
	}
	if t.few() {
		hugepages.FaultIn(t.node.staging(t.cfg.LocalRank).bytes, true)
	}
}

// Prepare implements transport.Preparer. It takes no ring if the peer has not joined yet, or if the node
// is not small (see small). In both cases the lane to the peer begins in the inbox.
func (e *endpoint) Prepare() {
	if !e.t.small() || e.t.closed || e.down != nil || e.ring.words != nil || e.introduce() != nil || !e.introduced {
		return
	}
	e.leaveInbox()
	if e.ring.words == nil {
		return
	}
	e.prepared = e.sent == 0
	hugepages.FaultIn(ringOf(e.control, e.number, e.ring.length).bytes[:e.ring.length], true)
	if e.t.few() {
		hugepages.FaultIn(e.t.node.staging(e.slot).bytes, true)
	}
	if a := atomic.LoadUint64(e.alert); a&alertArmed != 0 {
		e.wake(a)
	}
}
