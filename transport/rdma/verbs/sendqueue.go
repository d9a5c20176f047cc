package verbs

import (
	"math/bits"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// sendSlot holds a posted request and the fields that its completion needs.
type sendSlot struct {
	id     uint64
	status Status
	done   bool
	provider.Request
}

// sendQueue holds the requests posted to an endpoint, in order. The queue pair takes requests with
// Next and may finish them in any order. The sendQueue makes the completions in the order of
// posting, so that the queue pair need not keep this order.
type sendQueue struct {
	ep *Endpoint
	// slots is a ring whose length is a power of two. At most depth slots are in use.
	slots    []sendSlot
	segments []Segment // MaxRequestSegments segments for each slot
	inline   []byte    // MaxInline bytes for each slot
	depth    int
	// head is the number of the oldest request that is not retired. next is the number of the
	// oldest request that the provider has not taken. tail is the number of the next request to be
	// posted. These numbers only grow, except that finish sets them to 0 when all requests are retired.
	head, next, tail uint64
	// gated is true if this queue itself holds back fenced requests, and the Reads and atomics that
	// exceed readsMax, the final ORD. gated is false if the adapter holds them back
	// (Attributes.HoldsReads). If gated is true, reads counts the Reads and atomics that are taken
	// and not done. Otherwise reads stays 0.
	gated           bool
	reads, readsMax int
}

var _ provider.Sends = (*sendQueue)(nil)

// configure allocates the slots of the queue and makes it empty.
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

// ringSize returns the smallest power of two that is at least n. It returns 0 if n is 0.
func ringSize(n int) int {
	if n <= 1 {
		return n
	}
	return 1 << bits.Len(uint(n-1))
}

// slot returns the slot of the request with number n.
func (q *sendQueue) slot(n uint64) *sendSlot { return &q.slots[n&uint64(len(q.slots)-1)] }

// full reports whether the maximum number of requests (depth) is posted.
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

// DoneBefore implements provider.Sends. The request at head is not done, because finish retires a
// done request at head at once.
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
		q.head, q.next, q.tail = 0, 0, 0 // the next requests use slots that are in the processor's cache
		if q.ep.state == StateDisconnectPending {
			q.ep.later(deferDisconnect)
		}
	}
}

// retire removes r, the oldest request, and makes its completion. It makes no completion if the
// request succeeded and has FlagUnsignalled, or if the endpoint has no completion queue for
// requests.
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

// flush completes all requests in order. A failed request keeps its status. If a request has
// succeeded but an earlier request is unfinished, both count as flushed. The reason is that after
// a failure all later requests in the same direction fail (dat_ep_disconnect(3DAT)).
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

// put appends a request. The caller has validated it and has checked that the queue is not full.
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
