package verbs

// Receive is a posted receive as a provider sees it, from ReceiveQueue.Next to
// ReceiveQueue.Done or Fail.
type Receive struct {
	// Segments are the memory to fill, in order. Empty ones may be among them.
	Segments []Segment
	// Length is the longest message that fits: their total, without what Room leaves.
	Length int
	// Room says that FlagRoom is set: the message begins Attributes.Headroom bytes into
	// the only segment, all of which the provider may write to.
	Room bool
	// Mark is the provider's own; it is 0 when Next returns the receive.
	Mark uint64

	id          uint64
	received    int
	invalidated uint32
	status      Status
	flags       RequestFlags
	done, quiet bool
	// index is the place in the ring's slots, after the receive taken next by the same
	// endpoint, or -1.
	index, after int32
}

// receiveRing holds posted receives: those of one endpoint or those of a shared
// receive queue. A slot is free, posted, or taken by one endpoint.
type receiveRing struct {
	slots    []Receive
	segments []Segment
	free     []int32
	// posted is a ring of slot indices whose length is a power of two.
	posted     []int32
	head, tail uint64
	depth      int
	// shared is the queue whose limit is watched, or nil.
	shared *SharedReceiveQueue
}

func (g *receiveRing) configure(depth, segmentsMax int) {
	g.depth = depth
	g.slots = make([]Receive, depth)
	g.segments = make([]Segment, depth*segmentsMax)
	g.free = make([]int32, depth)
	g.posted = make([]int32, ringSize(depth))
	g.head, g.tail = 0, 0
	for i := range g.slots {
		g.slots[i].index = int32(i)
		g.slots[i].Segments = g.segments[i*segmentsMax : i*segmentsMax : (i+1)*segmentsMax]
		g.free[i] = int32(depth - 1 - i)
	}
}

// full reports whether no more can be posted.
func (g *receiveRing) full() bool { return len(g.free) == 0 }

// count returns the number of receives posted and not taken.
func (g *receiveRing) count() int { return int(g.tail - g.head) }

// put appends a receive that was checked. There is room.
func (g *receiveRing) put(r *ReceiveRequest, length int) {
	i := g.free[len(g.free)-1]
	g.free = g.free[:len(g.free)-1]
	s := &g.slots[i]
	s.Segments = setSegments(s.Segments, r.Segments)
	s.Length, s.Mark, s.id, s.done, s.status, s.after = length, 0, r.ID, false, StatusSuccess, -1
	s.received, s.flags, s.invalidated, s.quiet, s.Room = 0, 0, 0, r.Flags&FlagQuiet != 0, r.Flags&FlagRoom != 0
	g.posted[g.tail&uint64(len(g.posted)-1)] = i
	g.tail++
}

// take removes a posted receive, or returns nil: the oldest of an endpoint, whose
// messages fill its receives in order. No order is promised of a shared queue, and the
// one posted last is taken, because its memory is the most likely to be in a cache.
func (g *receiveRing) take() *Receive {
	r := g.peek()
	if r != nil {
		g.drop()
	}
	return r
}

// drop removes what peek returns.
func (g *receiveRing) drop() {
	if g.shared != nil {
		g.tail--
	} else {
		g.head++
	}
}

// peek returns what take takes.
func (g *receiveRing) peek() *Receive {
	if g.head == g.tail {
		return nil
	}
	at := g.head
	if g.shared != nil {
		at = g.tail - 1
	}
	return &g.slots[g.posted[at&uint64(len(g.posted)-1)]]
}

// release frees the slot of a receive that is complete.
func (g *receiveRing) release(r *Receive) {
	r.Segments = dropSegments(r.Segments)
	g.free = append(g.free, r.index)
}

// ReceiveQueue is where the messages that reach an endpoint find their memory: its
// own receives, or those of a shared receive queue.
type ReceiveQueue struct {
	ep   *Endpoint
	ring *receiveRing
	// first and last are the receives taken and not complete, or nil.
	first, last *Receive
}

// Next takes a posted receive, the oldest of an endpoint's own, or returns nil: no
// receive is posted. Each
// message takes one when its first byte arrives, an empty message too.
func (q *ReceiveQueue) Next() *Receive {
	r := q.ring.take()
	if r == nil {
		return nil
	}
	if q.last == nil {
		q.first = r
	} else {
		q.last.after = r.index
	}
	q.last = r
	if q.ring.shared != nil {
		q.ring.shared.watch()
	}
	return r
}

// Peek returns the receive that Next takes next, or nil, and leaves it.
func (q *ReceiveQueue) Peek() *Receive { return q.ring.peek() }

// Len returns the number of receives posted and not taken.
func (q *ReceiveQueue) Len() int { return q.ring.count() }

// Done says that a message is complete in the receive. length is its length, flags
// are FlagSolicited and FlagInvalidate as the peer set them, invalidated is the key
// of this adapter that the message has revoked.
func (q *ReceiveQueue) Done(r *Receive, length int, flags RequestFlags, invalidated uint32) {
	r.received, r.flags, r.invalidated = length, flags, invalidated
	q.finish(r, StatusSuccess)
}

// Deliver is Next and Done at once, for a message that is there as a whole and carries
// no flags. r is what Peek returns, and holds the message.
func (q *ReceiveQueue) Deliver(r *Receive, length int) {
	if q.first != nil {
		q.Done(q.Next(), length, 0, 0)
		return
	}
	q.ring.drop()
	if s := q.ring.shared; s != nil && s.limit != 0 {
		s.watch()
	}
	c := Completion{Endpoint: q.ep, ID: r.id, Length: length, Stream: StreamReceive, Op: OpReceive}
	quiet := r.quiet
	q.ring.release(r)
	q.complete(&c, quiet)
}

// Fail says that a message could not be received. Upcalls.Broken follows.
func (q *ReceiveQueue) Fail(r *Receive, s Status) { q.finish(r, s) }

func (q *ReceiveQueue) finish(r *Receive, s Status) {
	if r.done {
		panic("verbs: provider finished a receive twice")
	}
	r.done, r.status = true, s
	for q.first != nil && q.first.done {
		q.retire(q.first.status)
	}
}

// retire completes the oldest receive taken.
func (q *ReceiveQueue) retire(s Status) {
	r := q.first
	c := Completion{Endpoint: q.ep, ID: r.id, Stream: StreamReceive, Op: OpReceive, Status: s}
	if s == StatusSuccess {
		c.Length, c.Flags, c.Invalidated = r.received, r.flags, r.invalidated
	}
	if r.after >= 0 {
		q.first = &q.ring.slots[r.after]
	} else {
		q.first, q.last = nil, nil
	}
	quiet := r.quiet
	q.ring.release(r)
	q.complete(&c, quiet)
}

// complete hands a completion to the endpoint's queue.
func (q *ReceiveQueue) complete(c *Completion, quiet bool) {
	to := q.ep.config.Receives
	if to == nil {
		return
	}
	if q.ep.attributes.ReceiveFlags == CompletionSolicitedWait {
		quiet = c.Flags&FlagSolicited == 0
	}
	to.push(c, !quiet || c.Status != StatusSuccess)
}

// flush completes what the endpoint has taken and, of its own receives, what is
// posted, in order. Receives of a shared queue that no endpoint has taken stay there.
func (q *ReceiveQueue) flush() {
	for q.first != nil {
		s := StatusFlushed
		if q.first.done && q.first.status != StatusSuccess {
			s = q.first.status
		}
		q.retire(s)
	}
	if q.ring.shared != nil {
		return
	}
	for r := q.ring.take(); r != nil; r = q.ring.take() {
		c := Completion{Endpoint: q.ep, ID: r.id, Stream: StreamReceive, Op: OpReceive, Status: StatusFlushed}
		q.ring.release(r)
		q.complete(&c, false)
	}
}
