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
// FetchAdd; the addend lies in the buffer.
const (
	serveTicketMask   = 1<<8 - 1
	serveVerbShift    = 8
	serveLengthShift  = 16
	serveLengthMask   = 1<<24 - 1
	serveSequence     = 40
	serveSequenceMask = 1<<24 - 1

	codeDone   = 1
	codeBadKey = 2
	codeMask   = 1<<8 - 1

	// piecesPerOp are the buffers one operation may hold at a time.
	piecesPerOp = 4
	// maxServes is the number of requests of one peer that can be under way: its
	// tickets.
	maxServes = stagingSlots
)

// ticket is the asking side of one buffer.
type ticket struct {
	op       *bulkOp // nil: free
	off, n   int
	sequence uint64
	// lost says that a peer which may live still writes here.
	lost bool
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
	for k := range t.bulk.tickets {
		if t.bulk.tickets[k].op == op && *left > 0 {
			t.collect(op, k, left)
		}
	}
	total := len(op.buf)
	if op.verb == verbAdd {
		total = 8
	}
	for k := range t.bulk.tickets {
		tk := &t.bulk.tickets[k]
		if op.err != nil || op.asked == total || op.pieces == piecesPerOp || *left <= 0 {
			break
		}
		if tk.op == nil && !tk.lost && !t.ask(op, k, min(total-op.asked, stagingBytes), left) {
			break
		}
	}
	op.finished = op.pieces == 0 && (op.err != nil || op.done == total)
	op.waiting = true
}

// ask requests the next n bytes through buffer k. It returns false if the lane
// is full or closed.
func (t *Transport) ask(op *bulkOp, k, n int, left *int) bool {
	tk := &t.bulk.tickets[k]
	sequence := (tk.sequence + 1) & serveSequenceMask
	atomic.StoreUint64(ticketWord(t.control, k), 0)
	switch op.verb {
	case verbPut:
		copy(t.node.buffer(t.cfg.LocalRank, k, n), op.buf[op.asked:op.asked+n])
		*left -= n
	case verbAdd:
		*wordOf(t.node.buffer(t.cfg.LocalRank, k, 8)) = op.value
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
	if answer>>8 != tk.sequence || answer&codeMask == 0 {
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

// serve takes a request of a peer. It returns false if no correct peer sends it.
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
	pending := 0
	for i := range t.bulk.serves {
		if t.bulk.serves[i].slot == slot {
			pending++
		}
	}
	if pending >= maxServes {
		return false
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
	buffer := t.node.buffer(job.slot, job.ticket, job.n)
	control, old, code := e.control, uint64(0), uint64(codeDone)
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
	atomic.StoreUint64(ticketValue(control, job.ticket), old)
	atomic.StoreUint64(ticketWord(control, job.ticket), job.sequence<<8|code)
	if atomic.LoadUint64(e.alert)&alertArmed != 0 {
		e.wake()
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

// dropTickets takes the buffers of an operation back whose peer is gone. If the
// peer may live, nobody uses them again.
func (b *bulk) dropTickets(op *bulkOp, reaped bool) {
	for k := range b.tickets {
		if b.tickets[k].op == op {
			b.tickets[k].op = nil
			b.tickets[k].lost = !reaped
		}
	}
	op.pieces = 0
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
		if t.bulk.tickets[k].op != nil && atomic.LoadUint64(ticketWord(t.control, k))&codeMask != 0 {
			return true
		}
	}
	return false
}
