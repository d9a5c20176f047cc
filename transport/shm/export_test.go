package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// These sizes are used by tests outside of the package.
const (
	StagingBytes  = stagingSlots * stagingBytes
	RingsPerRank  = ringsPerRank
	RingAfter     = ringAfter
	InboxSlots    = inboxSlots
	PollBytes     = pollBytes
	ListingSlots  = listingSlots
	LongRingRanks = longRingRanks
	MaxRecord     = (maxEager + recordHeader + lineBytes - 1) &^ (lineBytes - 1)
)

// RefuseDirect makes every further direct copy of a transport fail with err.
func RefuseDirect(t *Transport, err error) {
	t.reader = func(int, []byte, uint64) (int, error) { return 0, err }
	t.writer = t.reader
}

// RefuseDirectAfter lets n direct copies of a transport succeed, and the following ones fail with
// err.
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

// Control returns the control area of a rank, for tests that overwrite it.
func Control(t *Transport, rank int) []byte { return t.node.control(rank).bytes }

// Lane returns the number of the ring in which a transport sends to a rank, or -1 if it uses the
// inbox.
func Lane(t *Transport, rank int) int {
	if e := t.endpoint(rank); e.ring.words != nil {
		return e.number
	}
	return -1
}

// Claim claims slots in the inbox of a rank without publishing a record, like a producer that dies
// after its claim. If moveTail is false, the producer dies before it updates the tail. Like a
// producer, Claim first claims the slots that are left before the end of the inbox.
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
		if w.claim(tail, claim) == written && !skip {
			return
		}
	}
}

// TakeRing takes a free ring of a rank without announcing it to that rank, and returns its number.
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

// RingOwner returns the owner word of a ring of a transport. The word is the local rank of the ring's
// writer plus one, or 0 if the ring is free.
func RingOwner(t *Transport, ring int) uint64 { return *ringOwner(t.control, ring) }

// AskBack makes a transport ask the writer of one of its rings to return the ring.
func AskBack(t *Transport, ring int) { atomic.OrUint64(t.alert, alertRing(ring)) }

// AskedBack reports whether a transport asks the writer of a ring to return the ring.
func AskedBack(t *Transport, ring int) bool {
	return atomic.LoadUint64(t.alert)&alertRing(ring) != 0
}

// Armed reports whether a transport has requested a ring of its doorbell.
func Armed(t *Transport) bool { return atomic.LoadUint64(t.alert)&alertArmed != 0 }

// Fenced reports whether a transport publishes its records for a rank with memory fences.
func Fenced(t *Transport, rank int) bool { return t.endpoint(rank).inbox.fence }

// WithoutFences makes transports of processes rely on membarrier(2) at once, as they do some
// milliseconds after they have joined. It returns false if the system has no such barriers.
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

// HookBarrier makes a transport call f before each barrier that it makes other processes pass.
func HookBarrier(t *Transport, f func()) {
	t.barrier = func() bool {
		f()
		return barrier()
	}
}

// These are kinds of notes, which are records that a transport sends for itself: NoteLane announces
// the ring in which a rank continues, and NoteServe requests a copy.
const (
	NoteLane  = kindLane
	NoteServe = kindServe
)

// Buffers returns the staging buffers of a transport.
func Buffers(t *Transport) []byte { return t.node.staging(t.cfg.LocalRank).bytes }

// cookieBytes is the length of the cookie by which a process is recognized.
const cookieBytes = 8

// These are offsets of words that tests overwrite.
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
)

// RingLength returns the length of the rings on a node of this number of ranks.
func RingLength(ranks int) int { return int(ringLength(ranks)) }

// Ring returns the bytes of a ring of this rank.
func Ring(t *Transport, number int) []byte {
	return ringOf(t.control, number, t.node.ring).bytes[:t.node.ring]
}

// Note sends a record of a kind that only transports send.
func Note(t *Transport, rank int, kind uint8, h transport.Header) error {
	return t.endpoint(rank).put(kind, h, nil)
}

// CountDirect makes a transport call a function of the test before each direct read. It returns a
// pointer to the number of bytes that direct reads have read.
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

// These are the methods by which a long Get can copy, see way in tuner.go.
const (
	WayAlone  = int(wayAlone)
	WayShared = int(wayShared)
	WayPiped  = int(wayPiped)
	Ways      = int(ways)
)

// ForceWay makes a transport copy every long Get by the method w.
func ForceWay(t *Transport, w int) {
	only := way(w)
	t.tuner.only = &only
}

// hookedBell is a doorbell whose Ring calls a function of the test.
type hookedBell struct {
	transport.Sleeper
	ring func(ring func())
}

// Ring implements transport.Sleeper.
func (b hookedBell) Ring() { b.ring(b.Sleeper.Ring) }

// HookBell makes a transport call f instead of ringing a rank. f gets the function that rings the
// rank.
func HookBell(t *Transport, rank int, f func(ring func())) {
	e := t.endpoint(rank)
	e.bell = hookedBell{t.node.bell(rank), f}
}

// Probe returns why a transport cannot copy directly from and to a rank, or nil if it can.
func Probe(t *Transport, rank int) error {
	e := t.endpoint(rank)
	e.direct()
	return e.reach.refusal
}

// Prove returns an error if the process ID of a rank no longer names the rank, as far as a transport
// can tell.
func Prove(t *Transport, rank int) error { return t.endpoint(rank).prove() }

// Reuse simulates that after n further direct copies the process IDs of all peers belong to another
// process. The last verifications of the IDs have then expired. Reads from the other process return
// other bytes, and writes to it are counted. Reads of a cookie do not count as copies.
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

// Reassign changes the process ID under which a transport knows a peer, and makes the last
// verification of the ID expire.
func Reassign(t *Transport, rank, pid int) {
	r := &t.endpoint(rank).reach
	r.pid, r.proved = pid, -proofHolds
}

// TakeTickets marks the requested tickets of a transport as taken, as if the owners of the memory had
// begun to copy.
func TakeTickets(t *Transport) {
	for k := range t.bulk.tickets {
		asked := t.bulk.tickets[k].sequence << 8
		atomic.CompareAndSwapUint64(ticketWord(t.control, k), asked|codeAsked, asked|codeTaken)
	}
}

// AnswerTickets answers the tickets that TakeTickets has marked, as if the owners had copied.
func AnswerTickets(t *Transport) {
	for k := range t.bulk.tickets {
		asked := t.bulk.tickets[k].sequence << 8
		atomic.CompareAndSwapUint64(ticketWord(t.control, k), asked|codeTaken, asked|codeDone)
	}
}

// TakeChunk claims a chunk of each shared Get of a transport from which the owner has claimed none, as if the owner had
// begun to copy.
func TakeChunk(t *Transport) {
	for _, op := range t.bulk.ops {
		if d := op.shared.desc; d.words != nil && atomic.LoadUint64(d.word(descClaims))/claimBack&claimMask == 0 {
			claimChunk(d.word(descClaims), claimBack, op.shared.sequence, chunks(len(op.buf)))
		}
	}
}

// GiveChunks marks the chunks that TakeChunk has claimed as copied.
func GiveChunks(t *Transport) {
	for _, op := range t.bulk.ops {
		if d := op.shared.desc; d.words != nil {
			_, back, _ := parseClaims(atomic.LoadUint64(d.word(descClaims)))
			atomic.StoreUint64(d.word(descDone), back)
		}
	}
}

// TakenBack returns how many tickets a transport has taken back.
func TakenBack(t *Transport) (n int) {
	for k := range t.bulk.tickets {
		if atomic.LoadUint64(ticketWord(t.control, k))&codeMask == codeBack {
			n++
		}
	}
	return n
}
