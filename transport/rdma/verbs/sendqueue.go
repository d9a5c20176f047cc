package verbs

import "math/bits"

// Request is a posted work request as a provider sees it, from SendQueue.Next to
// SendQueue.Done or Fail.
type Request struct {
	Op Opcode
	// Flags of interest are FlagSolicited, FlagInvalidate and FlagRoom; package verbs
	// handles the rest.
	Flags RequestFlags
	// Segments are the bytes, those of an inline request included. Empty ones may be
	// among them.
	Segments []Segment
	// Length is their total, without the room of FlagRoom.
	Length        int
	RemoteAddress uint64
	RKey          uint32
	Invalidate    uint32
	// Mark is the provider's own; it is 0 when Next returns the request.
	Mark uint64

	id     uint64
	status Status
	done   bool
}

// SendQueue holds the requests posted to an endpoint, in order. The provider takes
// them with Next, may finish them in any order, and need not keep count of anything:
// completions are made in the order of posting.
type SendQueue struct {
	ep *Endpoint
	// slots is a ring whose length is a power of two; depth of them may be in use.
	slots    []Request
	segments []Segment // segmentsMax for each slot
	inline   []byte    // inlineMax for each slot
	depth    int
	// head is the oldest request that is not retired, next the oldest one not taken by
	// the provider, tail the next free one. They only grow.
	head, next, tail uint64
	// reads counts Reads taken and not done; readsMax is the final ORD.
	reads, readsMax int
}

// configure sizes the queue, which must be empty.
func (q *SendQueue) configure(a *EndpointAttributes) {
	q.depth = a.MaxRequests
	size := ringSize(q.depth)
	q.slots = make([]Request, size)
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

// slot returns the request with a sequence number.
func (q *SendQueue) slot(n uint64) *Request { return &q.slots[n&uint64(len(q.slots)-1)] }

// full reports whether no more can be posted.
func (q *SendQueue) full() bool { return int(q.tail-q.head) >= q.depth }

// Len returns the number of requests posted and not complete.
func (q *SendQueue) Len() int { return int(q.tail - q.head) }

// Single returns the request that Next takes next, if it is the only one and may start
// now, or nil.
func (q *SendQueue) Single() *Request {
	if q.tail-q.next != 1 || q.reads > 0 || q.ep.state != StateConnected {
		return nil
	}
	return q.slot(q.next)
}

// TakeSingle takes the request that Single has returned.
func (q *SendQueue) TakeSingle() { q.next++ }

// Next takes the oldest request that was not taken yet and may start now, or returns
// nil: when there is none, when it is a Read and as many Reads as the connection
// allows (ORD) are under way, when its fence waits for one, or when the endpoint is
// not connected. Requests go on the wire in the order in which Next returns them.
func (q *SendQueue) Next() *Request {
	if q.next == q.tail || !q.ep.state.transfers() {
		return nil
	}
	r := q.slot(q.next)
	if q.reads > 0 && (r.Flags&FlagFence != 0 || r.Op == OpRead && q.reads >= q.readsMax) {
		return nil
	}
	if r.Op == OpRead {
		q.reads++
	}
	q.next++
	return r
}

// Done says that a request taken has succeeded and its memory is not touched any
// more. A Send or Write may be done when it was handed to the transport.
func (q *SendQueue) Done(r *Request) { q.finish(r, StatusSuccess) }

// Fail says that a request taken has failed. Upcalls.Broken follows.
func (q *SendQueue) Fail(r *Request, s Status) { q.finish(r, s) }

func (q *SendQueue) finish(r *Request, s Status) {
	if r.done {
		panic("verbs: provider finished a request twice")
	}
	r.done, r.status = true, s
	if r.Op == OpRead {
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
func (q *SendQueue) retire(r *Request, s Status) {
	flags := r.Flags
	c := Completion{Endpoint: q.ep, ID: r.id, Stream: StreamRequest, Op: r.Op, Status: s}
	if s == StatusSuccess {
		c.Length = r.Length
	}
	r.Segments = dropSegments(r.Segments)
	q.head++
	if s == StatusSuccess && flags&FlagUnsignalled != 0 || q.ep.config.Requests == nil {
		return
	}
	q.ep.config.Requests.push(&c, flags&FlagQuiet == 0 || s != StatusSuccess)
}

// flush completes everything in order. What has failed keeps its status; what was
// done behind something unfinished counts as flushed (dat_ep_disconnect(3DAT): after
// one failure all that follow in the same direction fail).
func (q *SendQueue) flush() {
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
func (q *SendQueue) put(w *WorkRequest, length int) {
	n := q.tail & uint64(len(q.slots)-1)
	r := &q.slots[n]
	r.Op, r.Flags, r.Length = w.Op, w.Flags, length
	r.RemoteAddress, r.RKey, r.Invalidate = w.RemoteAddress, w.RKey, w.Invalidate
	r.Mark, r.id, r.done, r.status = 0, w.ID, false, StatusSuccess
	if w.Flags&FlagInline == 0 {
		r.Segments = setSegments(r.Segments, w.Segments)
	} else {
		r.Segments = append(r.Segments[:0], Segment{Data: q.copyInline(int(n), w.Segments, length)})
	}
	q.tail++
}

// copyInline gathers the bytes of an inline request into the slot's own memory.
func (q *SendQueue) copyInline(slot int, from []Segment, length int) []byte {
	inlineMax := len(q.inline) / len(q.slots)
	to := q.inline[slot*inlineMax : slot*inlineMax+length]
	n := 0
	for i := range from {
		n += copy(to[n:], from[i].Data)
	}
	return to
}
