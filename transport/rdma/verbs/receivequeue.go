package verbs

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// receiveSlot is a posted receive, and what its completion needs.
type receiveSlot struct {
	provider.Receive
	id uint64
	// posted says that the receive is not done, quiet that FlagQuiet is set.
	posted, quiet bool
}

// makeReceives makes slots with lists of at most so many segments.
func makeReceives(n, segmentsMax int) []receiveSlot {
	slots, segments := make([]receiveSlot, n), make([]Segment, n*segmentsMax)
	for i := range slots {
		slots[i].Segments = segments[i*segmentsMax : i*segmentsMax : (i+1)*segmentsMax]
	}
	return slots
}

// fill makes the slot that of a receive that was checked.
func (s *receiveSlot) fill(r *ReceiveRequest, number uint64, length int) {
	s.Segments = setSegments(s.Segments, r.Segments)
	s.Number, s.Length, s.Room, s.Mark = number, length, r.Flags&FlagRoom != 0, 0
	s.id, s.posted, s.quiet = r.ID, true, r.Flags&FlagQuiet != 0
}

// vacate ends the use of the slot.
func (s *receiveSlot) vacate() {
	if !s.posted {
		panic("verbs: provider finished a receive twice")
	}
	s.posted = false
	s.Segments = dropSegments(s.Segments)
}

// receiveQueue holds an endpoint's own receives, in order, and takes what arrives, also in
// receives of a shared queue.
type receiveQueue struct {
	ep *Endpoint
	// slots is a ring whose length is a power of two; depth of them may be in use.
	slots []receiveSlot
	depth int
	// head is the oldest receive that is not done, next the oldest one not taken by the
	// provider, tail the next free one. They only grow, until all are done.
	head, next, tail uint64
}

var _ provider.Receives = (*receiveQueue)(nil)

// configure sizes the queue, which must be empty.
func (q *receiveQueue) configure(depth, segmentsMax int) {
	*q = receiveQueue{ep: q.ep, depth: depth, slots: makeReceives(ringSize(depth), segmentsMax)}
}

// slot returns the receive with a number.
func (q *receiveQueue) slot(n uint64) *receiveSlot { return &q.slots[n&uint64(len(q.slots)-1)] }

// full reports whether no more can be posted.
func (q *receiveQueue) full() bool { return int(q.tail-q.head) >= q.depth }

// len returns the number of receives posted and not done.
func (q *receiveQueue) len() int { return int(q.tail - q.head) }

// put appends a receive that was checked. There is room.
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

// retire completes a receive: one of the shared queue, or the oldest.
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
			q.head, q.next, q.tail = 0, 0, 0 // the next one comes where this one left the cache warm
		}
	}
	q.complete(c, quiet)
}

// complete hands a completion to the endpoint's queue.
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

// flush completes the endpoint's own receives in order. Those of a shared queue stay there.
func (q *receiveQueue) flush() {
	for q.next = q.tail; q.head != q.tail; {
		q.Fail(&q.slot(q.head).Receive, StatusFlushed)
	}
}
