package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// A peer copies for a rank if the rank cannot access the private memory of the peer, and in a piped Get (tuner.go).
// The requesting rank has a few buffers in node memory, and a ticket for each buffer. It sends, in its
// lane, a request for a piece of the operation. When the owner of the memory polls, it copies
// between the buffer and its exposed memory, and then writes the ticket. With several pieces in
// flight, both sides copy at the same time.
//
// The request consists only of a header:
//
//	A  bits 40-63  sequence of the ticket
//	   bits 16-39  length in bytes
//	   bits  8-15  verb
//	   bits  0-7   ticket, which is the number of the buffer
//	B  address
//	C  token of the key
//
// The ticket is a word, sequence<<8 | code. The next word holds the old value of a FetchAdd; the
// addend is in the buffer. The owner takes a ticket by a compare-and-swap before it accesses the
// buffer. Therefore the requesting rank can take back a ticket that the owner has not taken. It can
// then copy the piece by itself if the operating system permits.
const (
	serveTicketMask   = 1<<8 - 1
	serveVerbShift    = 8
	serveLengthShift  = 16
	serveLengthMask   = 1<<24 - 1
	serveSequence     = 40
	serveSequenceMask = 1<<24 - 1

	codeAsked  = 0
	codeDone   = 1
	codeBadKey = 2
	codeTaken  = 3
	codeBack   = 4
	codeMask   = 1<<8 - 1

	// piecesPerOp is the number of buffers that one operation may hold at a time.
	piecesPerOp = 4
	// minPiece is the least length of a piece in bytes. For a shorter piece, the request would cost
	// more than the overlap of the copies saves.
	minPiece = 16 << 10
	// A reader that can copy by itself begins to copy after a number of steps without an answer.
	// The number is idleTaken if the owner has taken a piece, and idleAsked otherwise.
	idleAsked = 64
	idleTaken = 2048
)

// pieceBytes returns the length in bytes of the pieces of an operation on n bytes.
func pieceBytes(n int) int {
	return min(max(n/8&^(pageBytes-1), minPiece), stagingBytes)
}

// ticket is the requesting rank's state of one buffer.
type ticket struct {
	op       *bulkOp // nil if the ticket is free
	off, n   int
	sequence uint64
	// lost is a peer whose loss was reported, but which has taken the ticket (see withheld).
	lost *endpoint
}

// serveJob is a request of a peer for a copy.
type serveJob struct {
	slot, ticket int
	verb         verb
	n            int
	sequence     uint64
	key          transport.Key
}

func ticketWord(control segment, number int) *uint64 {
	return control.word(offTickets + number*lineBytes)
}

func ticketValue(control segment, number int) *uint64 {
	return control.word(offTickets + number*lineBytes + 8)
}

// buffer returns the first size bytes of a staging buffer of a rank.
func (n *Node) buffer(rank, number, size int) []byte {
	return n.staging(rank).at(number*stagingBytes, stagingBytes).bytes[:size]
}

// stepStaged advances an operation that goes through staging buffers.
func (t *Transport) stepStaged(op *bulkOp, left *int) {
	before := op.done
	for k := range t.bulk.tickets {
		if t.bulk.tickets[k].op == op && *left > 0 {
			t.collect(op, k, left)
		}
	}
	op.waiting = true
	if op.restart && !t.restarted(op) {
		return
	}
	total := len(op.buf)
	if op.verb == verbAdd {
		total = 8
	}
	piece := pieceBytes(total)
	for k := range t.bulk.tickets {
		tk := &t.bulk.tickets[k]
		if op.err != nil || op.asked == total || op.pieces == piecesPerOp || *left <= 0 {
			break
		}
		if tk.op == nil && !t.withheld(tk, k) && !t.ask(op, k, min(total-op.asked, piece), left) {
			break
		}
	}
	if op.way == wayPiped && op.err == nil && op.done < total {
		op.waiting = false
		t.fillIn(op, before == op.done, left)
	}
	if op.err != nil {
		t.withdraw(op)
	}
	op.finished = op.finished || op.pieces == 0 && !op.restart && (op.err != nil || op.done == total)
	if op.finished && op.err == nil && op.readDirectly {
		t.verify(op)
	}
}

// fillIn copies a piece directly if the owner has not answered for idleAsked or idleTaken steps.
// If the owner has taken all pieces that are left, the operation waits for the answers. The argument
// idle is true if this step had no answer.
func (t *Transport) fillIn(op *bulkOp, idle bool, left *int) {
	if !idle {
		op.idle, op.attended = 0, true
		return
	}
	op.idle++
	limit := idleAsked
	for k := range t.bulk.tickets {
		if t.bulk.tickets[k].op == op && atomic.LoadUint64(ticketWord(t.control, k))&codeMask == codeTaken {
			limit = idleTaken
		}
	}
	if op.idle < limit || *left <= 0 {
		return
	}
	start, end, ok := t.nextDirect(op)
	if !ok {
		op.waiting = true
		op.stall()
		return
	}
	op.readDirectly = true
	t.copyChunk(op, start, end, left)
	op.done += end - start
	op.restart = op.err == nil && !op.e.reach.direct
}

// restarted resets an operation if direct copies were refused in the middle of the operation. The
// operation then begins again without direct copies. restarted returns false while the owner may
// still write to buffers of the operation.
func (t *Transport) restarted(op *bulkOp) bool {
	t.withdraw(op)
	if op.pieces > 0 {
		return false
	}
	op.restart, op.way, op.readDirectly = false, wayAlone, false
	op.asked, op.done, op.err = 0, 0, nil
	return true
}

// withdraw takes back those tickets of an operation that the owner has not taken.
func (t *Transport) withdraw(op *bulkOp) {
	for k := range t.bulk.tickets {
		if t.bulk.tickets[k].op == op {
			t.takeBack(op, k)
		}
	}
}

// takeBack takes the ticket of a piece back. It returns false if the owner has already taken the
// ticket.
func (t *Transport) takeBack(op *bulkOp, k int) bool {
	tk := &t.bulk.tickets[k]
	asked := tk.sequence << 8
	if !atomic.CompareAndSwapUint64(ticketWord(t.control, k), asked|codeAsked, asked|codeBack) {
		return false
	}
	tk.op = nil
	op.pieces--
	return true
}

// nextDirect returns the range of the next bytes to copy directly, if possible bytes that have not been requested.
// If all bytes have been requested, nextDirect takes back the ticket of a piece and returns the range of this piece.
// ok is false if no ticket can be taken back.
func (t *Transport) nextDirect(op *bulkOp) (start, end int, ok bool) {
	if op.asked < len(op.buf) {
		start = op.asked
		op.asked = min(start+maxChunk, len(op.buf))
		return start, op.asked, true
	}
	for k := range t.bulk.tickets {
		if tk := t.bulk.tickets[k]; tk.op == op && t.takeBack(op, k) {
			return tk.off, tk.off + tk.n, true
		}
	}
	return 0, 0, false
}

// ask requests the next n bytes through buffer k. It returns false if the lane
// is full or closed.
func (t *Transport) ask(op *bulkOp, k, n int, left *int) bool {
	tk := &t.bulk.tickets[k]
	sequence := (tk.sequence + 1) & serveSequenceMask
	atomic.StoreUint64(ticketWord(t.control, k), sequence<<8|codeAsked)
	switch op.verb {
	case verbPut:
		copy(t.node.buffer(t.cfg.LocalRank, k, n), op.buf[op.asked:op.asked+n])
		*left -= n
	case verbAdd:
		*wordOf(t.node.buffer(t.cfg.LocalRank, k, 8)) = op.value
	default:
	}
	key := op.key.At(op.asked)
	err := op.e.put(kindServe, transport.Header{
		A: sequence<<serveSequence | uint64(n)<<serveLengthShift | uint64(op.verb)<<serveVerbShift | uint64(k),
		B: key.Addr, C: key.Token,
	}, nil)
	if err != nil {
		if op.pieces == 0 && err != transport.ErrAgain { //nolint:errorlint // put returns the sentinel itself.
			op.finished, op.err = true, err
		}
		return false
	}
	*tk = ticket{op: op, off: op.asked, n: n, sequence: sequence}
	op.asked += n
	op.pieces++
	return true
}

// collect processes the answer in ticket k, if the owner has written it.
func (t *Transport) collect(op *bulkOp, k int, left *int) {
	tk := &t.bulk.tickets[k]
	answer := atomic.LoadUint64(ticketWord(t.control, k))
	if code := answer & codeMask; answer>>8 != tk.sequence || code != codeDone && code != codeBadKey {
		return
	}
	switch {
	case answer&codeMask != codeDone:
		op.err = t.failure(op.verb.String(), op.e.peer, transport.ErrBadKey)
	case op.verb == verbGet:
		copy(op.buf[tk.off:tk.off+tk.n], t.node.buffer(t.cfg.LocalRank, k, tk.n))
		*left -= tk.n
	case op.verb == verbAdd:
		op.value = atomic.LoadUint64(ticketValue(t.control, k))
	}
	op.done += tk.n
	op.pieces--
	tk.op = nil
}

// serve queues a request of a peer. It returns false if the request violates the protocol.
func (t *Transport) serve(slot int, h transport.Header) bool {
	job := serveJob{
		slot:     slot,
		ticket:   int(h.A & serveTicketMask),
		verb:     verb(h.A >> serveVerbShift & 0xff),
		n:        int(h.A >> serveLengthShift & serveLengthMask),
		sequence: h.A >> serveSequence,
		key:      transport.Key{Addr: h.B, Token: h.C},
	}
	if job.ticket >= stagingSlots || job.verb > verbAdd || job.n > stagingBytes || job.verb == verbAdd && job.n != 8 {
		return false
	}
	// A new request for a ticket means that the previous request was taken back.
	for i := range t.bulk.serves {
		if o := &t.bulk.serves[i]; o.slot == slot && o.ticket == job.ticket {
			*o = job
			return true
		}
	}
	t.bulk.serves = append(t.bulk.serves, job)
	return true
}

// moveServes makes copies for peers, at most about *left bytes. It returns the number of requests
// that it has handled.
func (t *Transport) moveServes(left *int) int {
	n := 0
	for n < len(t.bulk.serves) && *left > 0 {
		t.answer(t.bulk.serves[n], left)
		n++
	}
	t.bulk.serves = t.bulk.serves[:copy(t.bulk.serves, t.bulk.serves[n:])]
	return n
}

// answer makes one copy for a peer and writes the peer's ticket.
func (t *Transport) answer(job serveJob, left *int) {
	e := t.endpoint(job.slot)
	word := ticketWord(e.control, job.ticket)
	if !atomic.CompareAndSwapUint64(word, job.sequence<<8|codeAsked, job.sequence<<8|codeTaken) {
		return // the peer has taken the ticket back
	}
	buffer := t.node.buffer(job.slot, job.ticket, job.n)
	old, code := uint64(0), uint64(codeDone)
	ok := t.exposed.use(job.key, job.n, job.verb.access(), func(b []byte) {
		switch job.verb {
		case verbGet:
			copy(buffer, b)
		case verbPut:
			copy(b, buffer)
		case verbAdd:
			old = addTo(b, *wordOf(buffer))
		}
	})
	if !ok || job.verb == verbAdd && job.key.Addr%8 != 0 {
		code = codeBadKey
	}
	*left -= job.n
	atomic.StoreUint64(ticketValue(e.control, job.ticket), old)
	atomic.StoreUint64(word, job.sequence<<8|code)
	if a := atomic.LoadUint64(e.alert); a&alertArmed != 0 {
		e.wake(a)
	}
}

// addTo adds delta to the word at the start of b and returns the old value. It returns 0 if b is
// short or not aligned.
func addTo(b []byte, delta uint64) uint64 {
	w := wordOf(b)
	if w == nil {
		return 0
	}
	return atomic.AddUint64(w, delta) - delta
}

// withheld reports whether a lost peer may still access a buffer, because it has taken the ticket of the buffer, has
// not answered and was not reaped.
func (t *Transport) withheld(tk *ticket, k int) bool {
	if tk.lost != nil && (t.reaped[tk.lost.slot] || atomic.LoadUint64(ticketWord(t.control, k)) != tk.sequence<<8|codeTaken) {
		tk.lost = nil
	}
	return tk.lost != nil
}

// dropTickets takes back the buffers of an operation whose peer is lost. A buffer whose ticket the peer has taken is
// withheld.
func (t *Transport) dropTickets(op *bulkOp) {
	for k := range t.bulk.tickets {
		if tk := &t.bulk.tickets[k]; tk.op == op && !t.takeBack(op, k) {
			tk.op, tk.lost = nil, op.e
		}
	}
	op.pieces = 0
}
