package verbs

import (
	"math/bits"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// sendSlot is a posted request, and what its completion needs.
type sendSlot struct {
	id     uint64
	status Status
	done   bool
	provider.Request
}

// sendQueue holds the requests posted to an endpoint, in order. The queue pair takes them
// with Next, may finish them in any order, and need not keep count of anything:
// completions are made in the order of posting.
type sendQueue struct {
	ep *Endpoint
	// slots is a ring whose length is a power of two; depth of them may be in use.
	slots    []sendSlot
	segments []Segment // segmentsMax for each slot
	inline   []byte    // inlineMax for each slot
	depth    int
	// head is the oldest request that is not retired, next the oldest one not taken by
	// the provider, tail the next free one. They only grow, until all are done.
	head, next, tail uint64
	// gated says that Reads beyond readsMax, the final ORD, and fenced requests are held
	// back here; reads counts Reads and atomics taken and not done then.
	gated           bool
	reads, readsMax int
}

var _ provider.Sends = (*sendQueue)(nil)

// configure sizes the queue, which must be empty.
func (q *sendQueue) configure(a *EndpointAttributes) {
	q.depth = a.MaxRequests
	size := ringSize(q.depth)
	q.slots = make([]sendSlot, size)
	q.segments = make([]Segment, size*a.MaxRequestSegments)
	q.inline = make([]byte, size*a.MaxInline)
	q.head, q.next, q.tail = 0, 0, 0
	for i := range q.slots {
		q.slots[i].Segments = q.segments[i*a.MaxRequestSegments : i*a.MaxRequestSegments : (i+1)*a.MaxRequestSegments]
	}
}

// ringSize returns the smallest power of two that holds n.
func ringSize(n int) int {
	if n <= 1 {
		return n
	}
	return 1 << bits.Len(uint(n-1))
}

// slot returns the request with a number.
func (q *sendQueue) slot(n uint64) *sendSlot { return &q.slots[n&uint64(len(q.slots)-1)] }

// full reports whether no more can be posted.
func (q *sendQueue) full() bool { return int(q.tail-q.head) >= q.depth }

// Len implements provider.Sends.
func (q *sendQueue) Len() int { return int(q.tail - q.head) }

// Single implements provider.Sends.
func (q *sendQueue) Single() *provider.Request {
	if q.tail-q.next != 1 || q.reads > 0 || q.ep.state != StateConnected {
		return nil
	}
	return &q.slot(q.next).Request
}

// TakeSingle implements provider.Sends.
func (q *sendQueue) TakeSingle() { q.next++ }

// Next implements provider.Sends.
func (q *sendQueue) Next() *provider.Request {
	if q.next == q.tail || !q.ep.state.transfers() {
		return nil
	}
	r := &q.slot(q.next).Request
	if q.reads > 0 && (r.Flags&FlagFence != 0 || r.Op.Reads() && q.reads >= q.readsMax) {
		return nil
	}
	if q.gated && r.Op.Reads() {
		q.reads++
	}
	q.next++
	return r
}

// At implements provider.Sends.
func (q *sendQueue) At(number uint64) *provider.Request { return &q.slot(number).Request }

// Done implements provider.Sends.
func (q *sendQueue) Done(r *provider.Request) { q.finish(r, StatusSuccess) }

// DoneBefore implements provider.Sends. The oldest one is never done: it is retired then.
func (q *sendQueue) DoneBefore(number uint64) {
	for q.head != q.next && q.head < number {
		q.finish(&q.slot(q.head).Request, StatusSuccess)
	}
}

// Fail implements provider.Sends.
func (q *sendQueue) Fail(r *provider.Request, s Status) { q.finish(r, s) }

func (q *sendQueue) finish(r *provider.Request, s Status) {
	slot := q.slot(r.Number)
	if slot.done {
		panic("verbs: provider finished a request twice")
	}
	slot.done, slot.status = true, s
	if q.gated && r.Op.Reads() {
		q.reads--
	}
	for q.head != q.next {
		oldest := q.slot(q.head)
		if !oldest.done {
			return
		}
		q.retire(oldest, oldest.status)
	}
	if q.head == q.tail {
		q.head, q.next, q.tail = 0, 0, 0 // the next request comes where this one left the cache warm
		if q.ep.state == StateDisconnectPending {
			q.ep.later(deferDisconnect)
		}
	}
}

// retire completes the oldest request.
func (q *sendQueue) retire(r *sendSlot, s Status) {
	r.Segments = dropSegments(r.Segments)
	q.head++
	if s == StatusSuccess && r.Flags&FlagUnsignalled != 0 || q.ep.config.Requests == nil {
		return
	}
	c := Completion{Endpoint: q.ep, ID: r.id, Stream: StreamRequest, Op: r.Op, Status: s}
	if s == StatusSuccess {
		c.Length = r.Length
	}
	q.ep.config.Requests.push(&c, r.Flags&FlagQuiet == 0 || s != StatusSuccess)
}

// flush completes everything in order. What has failed keeps its status; what was
// done behind something unfinished counts as flushed (dat_ep_disconnect(3DAT): after
// one failure all that follow in the same direction fail).
func (q *sendQueue) flush() {
	for q.head != q.tail {
		r := q.slot(q.head)
		s := StatusFlushed
		if r.done && r.status != StatusSuccess {
			s = r.status
		}
		q.retire(r, s)
	}
	q.next, q.reads = q.head, 0
}

// put appends a request that was checked. There is room.
func (q *sendQueue) put(w *WorkRequest, length int) {
	n := q.tail & uint64(len(q.slots)-1)
	r := &q.slots[n]
	r.Number, r.Op, r.Flags, r.Length = q.tail, w.Op, w.Flags, length
	r.RemoteAddress, r.RKey, r.Invalidate, r.Immediate = w.RemoteAddress, w.RKey, w.Invalidate, w.Immediate
	r.Mark, r.id, r.done, r.status = 0, w.ID, false, StatusSuccess
	if w.Op.Atomic() {
		r.Compare, r.Swap = w.Compare, w.Swap
	}
	if w.Flags&FlagInline == 0 {
		r.Segments = setSegments(r.Segments, w.Segments)
	} else {
		r.Segments = append(r.Segments[:0], Segment{Data: q.copyInline(int(n), w.Segments, length)})
	}
	q.tail++
}

// copyInline gathers the bytes of an inline request into the slot's own memory.
func (q *sendQueue) copyInline(slot int, from []Segment, length int) []byte {
	inlineMax := len(q.inline) / len(q.slots)
	to := q.inline[slot*inlineMax : slot*inlineMax+length]
	n := 0
	for i := range from {
		n += copy(to[n:], from[i].Data)
	}
	return to
}
