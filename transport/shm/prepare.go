package shm

import "sync/atomic"

// Peers of a small node, which have a ring each at every rank, change from the inbox
// to their rings before the first message, and the pages of these rings are there by
// then. A page fault takes longer than a hundred messages, and a lap of a ring takes
// sixteen of them on either side (20 to 60 us each, measured on a virtual machine). On
// a larger node it is not known which pairs will exchange messages, and memory is used when
// touched.

// small says that every pair of ranks of the node can have a ring.
func (t *Transport) small() bool {
	return t.node.locals == nil && !t.cfg.Alone && t.node.ranks-1 <= ringsPerRank
}

// fewRanks is up to how many ranks of a node have the pages of their staging buffers from
// the start, too: half a mebibyte each, which with eight ranks takes a seventh of the
// time of the job's start.
const fewRanks = 4

// few says that the node is small and has few ranks.
func (t *Transport) few() bool {
	return t.small() && t.node.ranks > 1 && t.node.ranks <= fewRanks
}

// Partners are the other ranks of a small node, none on a large one: those with which
// every rank has a ring in common from the start, if it is prepared.
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

// touch makes the pages of this rank's control area, as far as the peers of a small
// node will use it.
func (t *Transport) touch() {
	if t.small() && t.node.ranks > 1 {
		populate(t.control.bytes[:offRings+(t.node.ranks-1)*ringBytes])
	}
	if t.few() {
		populate(t.node.staging(t.cfg.LocalRank).bytes)
	}
}

// Prepare implements transport.Preparer. A peer that has not joined yet, or is on a large
// node, is left for its first messages.
func (e *endpoint) Prepare() {
	if !e.t.small() || e.t.closed || e.down != nil || e.ring.words != nil || e.introduce() != nil || !e.introduced {
		return
	}
	e.prepared = true
	e.leaveInbox()
	if e.ring.words == nil {
		return
	}
	populate(ringOf(e.control, e.number).bytes)
	if e.t.few() {
		populate(e.t.node.staging(e.slot).bytes)
	}
	if a := atomic.LoadUint64(e.alert); a&alertArmed != 0 {
		e.wake(a)
	}
}
