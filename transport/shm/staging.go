package shm

import (
	"sync/atomic"

	"github.com/gorun-hpc/gorun/transport"
)

// Where a rank may not touch the private memory of a peer, the peer does. The
// asking rank has a few buffers in node memory and a ticket for each. It sends
// a request for a piece in its lane; the peer copies between the buffer and its
// exposed memory when it polls, then writes the ticket. With several pieces
// under way both sides copy at the same time.
//
// The request is a header alone:
//
//	A  bits 40-63  sequence of the ticket
//	   bits 16-39  length in bytes
//	   bits  8-15  verb
//	   bits  0-7   ticket, which is the number of the buffer
//	B  address
//	C  token of the key
//
// The ticket is a word, sequence<<8 | code, beside it the old word of a
// FetchAdd; the addend lies in the buffer. The owner takes a ticket by
// compare-and-swap before it touches the buffer, so that the asking rank can take back a
// ticket that was not taken, and copy by itself if permitted.
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

	// piecesPerOp are the buffers one operation may hold at a time.
	piecesPerOp = 4
	// minPiece is the least length of a piece: shorter ones cost more to ask for
	// than the overlap of the copies brings.
	minPiece = 16 << 10
	// Polls without an answer after which a reader that can copy by itself does: when
	// no piece was taken, and when one was.
	idleAsked = 64
	idleTaken = 2048
)

// pieceBytes is the length of the pieces of an operation on n bytes.
func pieceBytes(n int) int {
	return min(max(n/8&^(pageBytes-1), minPiece), stagingBytes)
}

// ticket is the asking side of one buffer.
type ticket struct {
	op       *bulkOp // nil: free
	off, n   int
	sequence uint64
	// lost is a peer that is given up, may live, and may still write here.
	lost *endpoint
}

// serveJob is a request of a peer.
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

// buffer returns n bytes of a staging buffer of a rank.
func (n *Node) buffer(rank, number, size int) []byte {
	return n.staging(rank).at(number*stagingBytes, stagingBytes).bytes[:size]
}

// stepStaged moves an operation on through staging buffers.
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
		if tk.op == nil && tk.lost == nil && !t.ask(op, k, min(total-op.asked, piece), left) {
			break
		}
	}
	if op.way == wayPiped && op.err == nil && op.done < total {
		op.waiting = false
		t.fillIn(op, before == op.done, left)
	}
	op.finished = op.finished || op.pieces == 0 && !op.restart && (op.err != nil || op.done == total)
}

// fillIn copies a piece directly when the owner lets us wait.
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
	if start, end, ok := t.nextDirect(op); ok {
		t.copyChunk(op, start, end, left)
		op.done += end - start
		op.restart = op.err == nil && !op.e.reach.direct
	}
}

// restarted begins again from the start, without direct copies, when they were
// refused in the middle and no peer writes into our buffers any more.
func (t *Transport) restarted(op *bulkOp) bool {
	for k := range t.bulk.tickets {
		if t.bulk.tickets[k].op == op {
			t.takeBack(op, k)
		}
	}
	if op.pieces > 0 {
		return false
	}
	op.restart, op.way = false, wayAlone
	op.asked, op.done, op.err = 0, 0, nil
	return true
}

// takeBack takes a piece back that the owner has not begun.
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

// nextDirect returns the next bytes to copy directly: what was not asked for, or
// a piece that is taken back.
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

// collect takes the answer of ticket k if it is there.
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
	// A new request for a ticket says that the last one was taken back.
	for i := range t.bulk.serves {
		if o := &t.bulk.serves[i]; o.slot == slot && o.ticket == job.ticket {
			*o = job
			return true
		}
	}
	t.bulk.serves = append(t.bulk.serves, job)
	return true
}

// moveServes makes copies for peers, by at most about left bytes.
func (t *Transport) moveServes(left *int) int {
	n := 0
	for n < len(t.bulk.serves) && *left > 0 {
		t.answer(t.bulk.serves[n], left)
		n++
	}
	t.bulk.serves = t.bulk.serves[:copy(t.bulk.serves, t.bulk.serves[n:])]
	return n
}

// answer makes one copy for a peer and writes its ticket.
func (t *Transport) answer(job serveJob, left *int) {
	e := t.endpoint(job.slot)
	if e.down != nil {
		return
	}
	word := ticketWord(e.control, job.ticket)
	if !atomic.CompareAndSwapUint64(word, job.sequence<<8|codeAsked, job.sequence<<8|codeTaken) {
		return // taken back
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

// addTo adds to the word at the start of b if it is one, and returns the old.
func addTo(b []byte, delta uint64) uint64 {
	w := wordOf(b)
	if w == nil {
		return 0
	}
	return atomic.AddUint64(w, delta) - delta
}

// dropTickets takes the buffers of an operation back whose peer is gone. If the peer may
// live, they are not used again until it is reaped.
func (b *bulk) dropTickets(op *bulkOp, reaped bool) {
	for k := range b.tickets {
		if tk := &b.tickets[k]; tk.op == op {
			tk.op = nil
			if !reaped {
				tk.lost = op.e
			}
		}
	}
	op.pieces = 0
}

// reap takes the buffers back into which a peer might have written.
func (b *bulk) reap(e *endpoint) {
	for k := range b.tickets {
		if b.tickets[k].lost == e {
			b.tickets[k].lost = nil
		}
	}
}

// restless says that the queue can move without anything arriving.
func (b *bulk) restless() bool {
	if len(b.serves) > 0 || len(b.helps) > 0 {
		return true
	}
	for _, op := range b.ops {
		if !op.waiting || op.finished {
			return true
		}
	}
	return false
}

// answered says that a ticket was written.
func (t *Transport) answered() bool {
	for k := range t.bulk.tickets {
		if t.bulk.tickets[k].op == nil {
			continue
		}
		if code := atomic.LoadUint64(ticketWord(t.control, k)) & codeMask; code == codeDone || code == codeBadKey {
			return true
		}
	}
	return false
}
