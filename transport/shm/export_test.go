package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// Sizes that tests outside of the package check.
const (
	ControlBytes = controlBytes
	StagingBytes = stagingSlots * stagingBytes
	RingsPerRank = ringsPerRank
	RingAfter    = ringAfter
	InboxSlots   = inboxSlots
	PollBytes    = pollBytes
	MaxRecord    = (maxEager + recordHeader + lineBytes - 1) &^ (lineBytes - 1)
)

// RefuseDirect makes every direct copy of a transport fail with err from now on.
func RefuseDirect(t *Transport, err error) {
	t.reader = func(int, []byte, uint64) (int, error) { return 0, err }
	t.writer = t.reader
}

// RefuseDirectAfter lets n direct copies through and refuses the rest.
func RefuseDirectAfter(t *Transport, n int, err error) {
	read, write := t.reader, t.writer
	limit := func(move func(int, []byte, uint64) (int, error)) func(int, []byte, uint64) (int, error) {
		return func(pid int, b []byte, addr uint64) (int, error) {
			if n--; n < 0 {
				return 0, err
			}
			return move(pid, b, addr)
		}
	}
	t.reader, t.writer = limit(read), limit(write)
}

// Control returns the control area of a rank, for tests that damage it.
func Control(t *Transport, rank int) []byte { return t.node.control(rank).bytes }

// Lane returns the ring a transport sends to a rank in, -1 for the inbox.
func Lane(t *Transport, rank int) int {
	if e := t.endpoint(rank); e.ring.words != nil {
		return e.number
	}
	return -1
}

// Claim makes a claim in the inbox of a rank without publishing a record, as a
// producer does that dies there. If it is to die even earlier, the tail stays where it
// was. Like a producer it claims what is left before the end of the inbox first.
func Claim(t *Transport, rank, lines int, moveTail bool) {
	w := &t.endpoint(rank).inbox
	for {
		tail := atomic.LoadUint64(w.tail)
		claim := slotWord(slotClaimed, uint64(lines), w.rank, tail)
		skip := inboxSlots-tail&inboxMask < uint64(lines)
		if skip {
			claim = slotWord(slotSkip, inboxSlots-tail&inboxMask, w.rank, tail)
		}
		if !moveTail && atomic.CompareAndSwapUint64(&w.index[tail&inboxMask], slotLap(tail), claim) {
			return
		}
		if _, v := w.claim(tail, claim); v == written && !skip {
			return
		}
	}
}

// TakeRing claims a free ring of a rank without announcing it.
func TakeRing(t *Transport, rank int) int {
	e := t.endpoint(rank)
	for k := range ringsPerRank {
		if owner := ringOwner(e.control, k); *owner == 0 {
			*owner = uint64(t.cfg.LocalRank) + 1
			return k
		}
	}
	return -1
}

// RingOwner returns the word of the owner of a ring of a transport.
func RingOwner(t *Transport, ring int) uint64 { return *ringOwner(t.control, ring) }

// AskBack asks the writer of a ring of a transport to give it back.
func AskBack(t *Transport, ring int) { atomic.OrUint64(t.alert, alertRing(ring)) }

// AskedBack says that the writer of a ring of a transport is asked to give it back.
func AskedBack(t *Transport, ring int) bool {
	return atomic.LoadUint64(t.alert)&alertRing(ring) != 0
}

// Armed says that a transport asks to be rung.
func Armed(t *Transport) bool { return atomic.LoadUint64(t.alert)&alertArmed != 0 }

// Fenced says that a transport orders what it publishes for a rank by fences.
func Fenced(t *Transport, rank int) bool { return t.endpoint(rank).inbox.fence }

// WithoutFences makes transports of processes rely on barriers from now on, as they do
// some milliseconds after they joined. It returns false where there are none.
func WithoutFences(ts ...*Transport) bool {
	if !registerBarrier() {
		return false
	}
	barriers.ready.Store(true)
	for _, t := range ts {
		t.relax()
	}
	return true
}

// HookBarrier calls f where a transport makes the others pass a barrier.
func HookBarrier(t *Transport, f func()) {
	t.barrier = func() bool {
		f()
		return barrier()
	}
}

// Kinds of notes: in which ring a rank continues, and a request for a copy.
const (
	NoteLane  = kindLane
	NoteServe = kindServe
)

// Buffers are the staging buffers of a transport.
func Buffers(t *Transport) []byte { return t.node.staging(t.cfg.LocalRank).bytes }

// cookieBytes is the length of the word that proves a process.
const cookieBytes = 8

// Offsets of what tests damage.
const (
	OffVersion    = offVersion
	OffInboxIndex = offInboxIndex
	OffInboxData  = offInboxData
	OffInboxTail  = offInboxTail
	OffInboxHead  = offInboxHead
	OffRings      = offRings
	OffRingHeads  = offRingHeads
	OffTickets    = offTickets
	OffBulk       = offBulk
	RingBytes     = ringBytes
)

// Note is a record of a kind that only transports send.
func Note(t *Transport, rank int, kind uint8, h transport.Header) error {
	return t.endpoint(rank).put(kind, h, nil)
}

// CountDirect calls before ahead of every direct read and returns a count of the
// bytes read.
func CountDirect(t *Transport, before func()) *int {
	read, n := t.reader, new(int)
	t.reader = func(pid int, b []byte, addr uint64) (int, error) {
		before()
		got, err := read(pid, b, addr)
		*n += got
		return got, err
	}
	return n
}

// Ways of a long Get.
const (
	WayAlone  = int(wayAlone)
	WayShared = int(wayShared)
	WayPiped  = int(wayPiped)
	Ways      = int(ways)
)

// ForceWay makes every long Get of a transport go one way.
func ForceWay(t *Transport, w int) {
	only := way(w)
	t.tuner.only = &only
}

// hookedBell is a bell that is rung by a function.
type hookedBell struct {
	transport.Sleeper
	ring func(ring func())
}

// Ring implements transport.Sleeper.
func (b hookedBell) Ring() { b.ring(b.Sleeper.Ring) }

// HookBell calls f where a transport rings a rank. f gets what rings it.
func HookBell(t *Transport, rank int, f func(ring func())) {
	e := t.endpoint(rank)
	e.bell = hookedBell{t.node.bell(rank), f}
}

// Probe says why a transport cannot copy from and to a rank directly, if it cannot.
func Probe(t *Transport, rank int) error {
	e := t.endpoint(rank)
	e.direct()
	return e.reach.refusal
}

// Prove says whether a transport still sees a rank under its process id.
func Prove(t *Transport, rank int) error { return t.endpoint(rank).prove() }

// Reuse makes the process ids of all peers of a transport name another process after n
// more direct copies, and long after the peers were seen under them. That process holds
// other bytes; the writes into it are counted. Looks at a cookie are no copies.
func Reuse(t *Transport, n int) (writes *int) {
	read, write, writes := t.reader, t.writer, new(int)
	expire := func() {
		for _, e := range t.endpoints {
			if e != nil {
				e.reach.proved = -proofHolds
			}
		}
	}
	if n == 0 {
		expire()
	}
	limit := func(move, other func(int, []byte, uint64) (int, error)) func(int, []byte, uint64) (int, error) {
		return func(pid int, b []byte, addr uint64) (int, error) {
			if n == 0 {
				return other(pid, b, addr)
			}
			if len(b) == cookieBytes {
				return move(pid, b, addr)
			}
			if n--; n == 0 {
				expire()
			}
			return move(pid, b, addr)
		}
	}
	t.reader = limit(read, func(_ int, b []byte, _ uint64) (int, error) {
		for i := range b {
			b[i] = 0xee
		}
		return len(b), nil
	})
	t.writer = limit(write, func(_ int, b []byte, _ uint64) (int, error) {
		*writes++
		return len(b), nil
	})
	return writes
}

// Reassign makes the process id of a peer name another process, long after the peer
// was seen under it.
func Reassign(t *Transport, rank, pid int) {
	r := &t.endpoint(rank).reach
	r.pid, r.proved = pid, -proofHolds
}
