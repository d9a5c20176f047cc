package engine

import (
	"context"
	"math"

	"github.com/gorun-hpc/gorun/transport"
)

// op is the kind of operation of a request.
type op uint8

const (
	opSend op = iota
	opSync
	opRecv
	opRecvMessage
	opSendHandover
)

// opNames are the names of the operations in errors and in Blocked.
var opNames = [...]string{
	opSend: "send", opSync: "synchronous send", opRecv: "receive",
	opRecvMessage: "receive message", opSendHandover: "send buffer",
}

// phase is the state of a request.
type phase uint8

const (
	phaseFree      phase = iota
	phaseQueued          // send: its frame is in the pending queue of its peer
	phaseAnnounced       // send: its envelope was sent; this rank knows of no match
	phaseMoving          // matched: its bytes are being moved, and it cannot be cancelled
	phasePosted          // receive: posted and unmatched
	phaseHeld            // receive: matched, but memory for the message is still to be allocated
	phaseDone
)

// Request is the record of an operation. Callers identify it by a Handle. The engine may access
// the caller's slice buf until the request is done. Records come from a free list and return to
// it when the result is taken.
//
// The fields that a small receive uses come first, so that many pending receives touch few cache
// lines.
type Request struct {
	entry      entry // receive: its entry in the matcher while it is posted
	e          *Engine
	next       *Request // link of the list that it is in: a list of its peer or the free list
	peer       *peer    // send: destination; receive: source, once matched
	buf        []byte
	waiter     *waiter // the goroutine that waits for the request, or nil
	typ        Type
	generation uint32 // how often a result was taken from this record, see Handle
	id         uint32 // id in Engine.operations if frames or completions will name the request, else 0
	op         op
	phase      phase
	exposed    bool // buf is exposed to the peer under key
	withdrawn  bool // a WITHDRAW was sent
	canceled   bool // cancel was called
	given      bool // no goroutine takes the result, see sendGiven
	noted      bool // the recorder has the beginning of the operation, but not yet the end
	late       bool // the beginning is not recorded yet: noteWait or noteReceived will record it
	status     Status
	err        error
	cause      error    // the reason of the cancellation, or nil
	message    *Message // RecvMessage: the result; the record owns it
	held       *message // RecvMessage: the message in phaseHeld
	target     key      // destination or source
	record     uint64   // number of the operation at the recorder, if noted

	mate uint32        // id of the peer's operation, for frames that answer it
	key  transport.Key // key of buf, if exposed
	move transfer
	gift uint64 // sendGiven: Addr of the key of the memory that was given away
	own  waiter // waiter of a goroutine that waits for this request alone
}

// newRequest returns a request. Its record comes from the free list, if the list is not empty.
func (e *Engine) newRequest(o op, t Type, to key, buf []byte) *Request {
	r := e.requests
	if r == nil {
		r = &Request{e: e}
		r.entry.req = r
	} else {
		e.requests, r.next = r.next, nil
	}
	r.op, r.typ, r.target, r.buf = o, t, to, buf
	return r
}

// lastGeneration is the generation at which a record is no longer reused. No handle has this generation.
const lastGeneration = math.MaxUint32

// free takes the result of a request that is done and returns the record to the free list. A
// record that has reached lastGeneration is left to the garbage collector instead: if its
// generation wrapped around, an old handle could identify a later operation.
func (e *Engine) free(r *Request) (Status, error) {
	s, err := r.status, r.err
	r.phase = phaseFree
	r.generation++
	r.peer, r.buf, r.err, r.waiter, r.cause = nil, nil, nil, nil, nil
	r.exposed, r.withdrawn, r.canceled, r.given = false, false, false, false
	if r.generation != lastGeneration {
		r.next, e.requests = e.requests, r
	}
	return s, err
}

// carry stores the message that RecvMessage will return.
func (r *Request) carry(m Message) {
	if r.message == nil {
		r.message = new(Message)
	}
	*r.message = m
}

// carried returns the message that carry stored, and clears it. If carry has stored no message, it
// returns the zero Message.
func (r *Request) carried() Message {
	if r.message == nil {
		return Message{}
	}
	m := *r.message
	*r.message = Message{}
	return m
}

// complete ends a request and wakes the goroutine that waits for it. An err that is not nil becomes the
// error of the request. It also replaces the error of a truncation or a mismatch. From then on the engine
// does not access the slice. If the field given of the request is set, complete also frees its record,
// because no goroutine will take the result.
func (e *Engine) complete(r *Request, err error) {
	if r.phase == phaseDone {
		return
	}
	if err != nil {
		r.err = err
		if r.phase != phaseMoving {
			// No message was matched, or there is no memory for it yet. The record may have an earlier status.
			r.status = Status{}
		}
		r.status.Bytes = 0
	}
	if r.exposed {
		e.unexpose(r)
	}
	if r.id != 0 {
		e.operations.drop(r.id)
		r.id = 0
	}
	r.phase = phaseDone
	if r.noted {
		e.noteEnd(r)
	}
	if w := r.waiter; w != nil {
		e.fire(w)
	}
	if r.given {
		e.endGiven(r)
	}
}

// unexpose conceals the slice of a request that was exposed to its peer.
func (e *Engine) unexpose(r *Request) {
	r.exposed = false
	if err := r.peer.tr.Conceal(r.key); err != nil && r.err == nil {
		r.err = err
	}
}

// waitRequest waits until r is done or in phaseHeld. If ctx ends first, it cancels r and then waits
// again, without ctx. If the cancellation needs no answer of the peer, the second wait ends at once.
// Otherwise it ends when the peer has confirmed the cancellation or, if the operation was already matched, when
// its bytes have been moved.
func (e *Engine) waitRequest(ctx context.Context, r *Request) {
	w := &r.own
	w.req, w.fired = r, false
	r.waiter = w
	err := e.wait(ctx, w)
	if err != nil && r.phase != phaseDone {
		e.cancel(r, err)
		w.fired = r.phase == phaseDone || r.phase == phaseHeld
		_ = e.wait(context.Background(), w)
	}
	r.waiter, w.req = nil, nil
}

// operations assigns ids to requests. Peers name the id in frames that answer the operation.
// Transports name it in completions. An id contains a generation, so that an answer to a finished
// operation is not taken for an answer to a later one with the same index.
//
//	bits 0-23 index + 1, 24-31 generation
type operations struct {
	slots []operation
	idle  []uint32 // free indices
}

// operation is a slot of operations. generation counts how often the index was freed, mod 256.
type operation struct {
	req        *Request
	generation uint8
}

const indexBits = 24

// add assigns an id to r and returns it. It returns 0 if all indices are in use.
func (o *operations) add(r *Request) uint32 {
	var i uint32
	if last := len(o.idle) - 1; last >= 0 {
		i, o.idle = o.idle[last], o.idle[:last]
	} else {
		i = uint32(len(o.slots))
		if i >= 1<<indexBits-1 {
			return 0
		}
		o.slots = append(o.slots, operation{})
	}
	o.slots[i].req = r
	return i + 1 | uint32(o.slots[i].generation)<<indexBits
}

// find returns the request with an id, or nil if there is none any more.
func (o *operations) find(id uint32) *Request {
	i := id&(1<<indexBits-1) - 1
	if i >= uint32(len(o.slots)) || o.slots[i].generation != uint8(id>>indexBits) {
		return nil
	}
	return o.slots[i].req
}

// drop frees an id, which is in use.
func (o *operations) drop(id uint32) {
	i := id&(1<<indexBits-1) - 1
	o.slots[i].req = nil
	o.slots[i].generation++
	o.idle = append(o.idle, i)
}
