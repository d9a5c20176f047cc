package verbs

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// receiveSlot holds a posted receive and the fields that its completion needs.
type receiveSlot struct {
	provider.Receive
	id uint64
	// posted is true until the receive completes. quiet is true if the receive has FlagQuiet.
	posted, quiet bool
}

// makeReceives makes n slots for receives of at most segmentsMax segments each.
func makeReceives(n, segmentsMax int) []receiveSlot {
	slots, segments := make([]receiveSlot, n), make([]Segment, n*segmentsMax)
	for i := range slots {
		slots[i].Segments = segments[i*segmentsMax : i*segmentsMax : (i+1)*segmentsMax]
	}
	return slots
}

// fill stores a validated receive in the slot.
func (s *receiveSlot) fill(r *ReceiveRequest, number uint64, length int) {
	s.Segments = setSegments(s.Segments, r.Segments)
	s.Number, s.Length, s.Room = number, length, r.Flags&FlagRoom != 0
	s.id, s.posted, s.quiet = r.ID, true, r.Flags&FlagQuiet != 0
}

// vacate marks the slot as free and drops its references to the consumer's memory.
func (s *receiveSlot) vacate() {
	if !s.posted {
		panic("verbs: provider finished a receive twice")
	}
	s.posted = false
	s.Segments = dropSegments(s.Segments)
}

// receiveQueue holds an endpoint's own receives in the order of posting. The queue pair reports
// received messages to it, including messages that have used receives of a shared receive queue.
type receiveQueue struct {
	ep *Endpoint
	// slots is a ring whose length is a power of two. At most depth slots are in use.
	slots []receiveSlot
	depth int
	// head is the number of the oldest receive that is not complete. next is the number of the
	// oldest receive that the provider has not taken. tail is the number of the next receive to be
	// posted. These numbers only grow, except that retire sets them to 0 when all receives are complete.
	head, next, tail uint64
}

var _ provider.Receives = (*receiveQueue)(nil)

// configure allocates the slots of the queue and makes it empty.
func (q *receiveQueue) configure(depth, segmentsMax int) {
	*q = receiveQueue{ep: q.ep, depth: depth, slots: makeReceives(ringSize(depth), segmentsMax)}
}

// slot returns the slot of the receive with number n.
func (q *receiveQueue) slot(n uint64) *receiveSlot { return &q.slots[n&uint64(len(q.slots)-1)] }

// full reports whether the maximum number of receives (depth) is posted.
func (q *receiveQueue) full() bool { return int(q.tail-q.head) >= q.depth }

// len returns the number of receives that are posted and not complete.
func (q *receiveQueue) len() int { return int(q.tail - q.head) }

// put appends a receive. The caller has validated it and has checked that the queue is not full.
func (q *receiveQueue) put(r *ReceiveRequest, length int) {
	q.slot(q.tail).fill(r, q.tail, length)
	q.tail++
}

// Next implements provider.Receives.
func (q *receiveQueue) Next() *provider.Receive {
	r := q.Peek()
	if r != nil {
		q.next++
	}
	return r
}

// Peek implements provider.Receives.
func (q *receiveQueue) Peek() *provider.Receive {
	if q.next == q.tail {
		return nil
	}
	return &q.slot(q.next).Receive
}

// At implements provider.Receives.
func (q *receiveQueue) At(number uint64) *provider.Receive { return &q.slot(number).Receive }

// Deliver implements provider.Receives.
func (q *receiveQueue) Deliver(r *provider.Receive, length int) {
	if q.ep.config.SharedReceives == nil {
		q.next++
	}
	c := Completion{Endpoint: q.ep, Length: length, Stream: StreamReceive, Op: OpReceive}
	q.retire(r, &c)
}

// Done implements provider.Receives.
func (q *receiveQueue) Done(r *provider.Receive, a provider.Arrival) {
	c := Completion{
		Endpoint: q.ep, Length: a.Length, Stream: StreamReceive, Op: OpReceive,
		Flags: a.Flags, Invalidated: a.Invalidated, Immediate: a.Immediate,
	}
	if a.Written {
		c.Op = OpReceiveWrite
	}
	q.retire(r, &c)
}

// Fail implements provider.Receives.
func (q *receiveQueue) Fail(r *provider.Receive, s Status) {
	q.retire(r, &Completion{Endpoint: q.ep, Stream: StreamReceive, Op: OpReceive, Status: s})
}

// retire completes the receive r. If the endpoint has no shared receive queue, r must be the oldest
// of the endpoint's own receives.
func (q *receiveQueue) retire(r *provider.Receive, c *Completion) {
	var quiet bool
	if shared := q.ep.config.SharedReceives; shared != nil {
		c.ID = shared.release(r)
	} else {
		s := q.slot(q.head)
		if r != &s.Receive || q.head == q.next {
			panic("verbs: provider finished a receive out of turn")
		}
		c.ID, quiet = s.id, s.quiet
		s.vacate()
		if q.head++; q.head == q.tail {
			q.head, q.next, q.tail = 0, 0, 0 // the next receives use slots that are in the processor's cache
		}
	}
	q.complete(c, quiet)
}

// complete pushes a completion to the endpoint's completion queue for receives. quiet is true
// if the receive had FlagQuiet.
func (q *receiveQueue) complete(c *Completion, quiet bool) {
	to := q.ep.config.Receives
	if to == nil {
		return
	}
	if q.ep.attributes.ReceiveFlags == CompletionSolicitedWait {
		quiet = c.Flags&FlagSolicited == 0 && !q.ep.adapter.limits.HidesFlags
	}
	to.push(c, !quiet || c.Status != StatusSuccess)
}

// flush completes the endpoint's own receives in order, with StatusFlushed. Receives of a shared
// receive queue stay posted.
func (q *receiveQueue) flush() {
	for q.next = q.tail; q.head != q.tail; {
		q.Fail(&q.slot(q.head).Receive, StatusFlushed)
	}
}
