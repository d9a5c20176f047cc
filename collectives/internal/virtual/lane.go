package virtual

// envelope is a message, from its send until it is received or, in a rendezvous, until its sender continues.
type envelope struct {
	lane            *lane
	from, to, bytes int
	segment         *Segment
	payload         []byte // copy of the sender's bytes; empty if the sender's buffer has no memory
	// offered and demanded are the steps of a rendezvous. offered: the announcement has reached the
	// receiver. demanded: the receiver has requested the message. arrived: the message has arrived, and
	// is complete at the receiver at the time in the field at. released: the receiver has received the
	// message of a rendezvous. If the sender was not waiting at that moment, the field at then has the time
	// at which the sender may continue.
	offered, demanded, arrived, released bool
	at                                   Time
	next                                 *envelope // the next message of the lane
}

// lane is the queue of the messages from one rank to another that were sent and not yet received.
type lane struct {
	first, last *envelope
	receiver    *Rank // the receiving rank while it waits for the first message, otherwise nil
}

// awaited returns the rank that waits for m, or nil if no rank waits for m.
func (l *lane) awaited(m *envelope) *Rank {
	if l.first != m {
		return nil
	}
	return l.receiver
}

func laneKey(from, to int) uint64 { return uint64(from)<<32 | uint64(to) }

// lane returns the lane from one rank to another. It makes the lane if there is none.
func (n *network) lane(from, to int) *lane {
	key := laneKey(from, to)
	l := n.lanes[key]
	if l == nil {
		l = &lane{}
		n.lanes[key] = l
	}
	return l
}

// send appends a message of b to its lane. It copies b if b has memory.
func (n *network) send(from, to int, b []byte, s *Segment) *envelope {
	m := n.spare
	if m == nil {
		m = &envelope{}
	} else {
		n.spare = m.next
	}
	payload := m.payload[:0]
	if n.Payload || !n.without(b) {
		payload = append(payload, b...)
	}
	*m = envelope{lane: n.lane(from, to), from: from, to: to, bytes: len(b), segment: s, payload: payload}
	if m.lane.last == nil {
		m.lane.first = m
	} else {
		m.lane.last.next = m
	}
	m.lane.last = m
	return m
}

// take removes m, the first message of its lane. If the lane is then empty, take also removes the
// lane.
func (n *network) take(m *envelope) {
	l := m.lane
	if l.first = m.next; l.first == nil {
		l.last = nil
		delete(n.lanes, laneKey(m.from, m.to))
	}
	m.lane, m.next = nil, nil
}

// recycle puts an envelope that is not referenced any more on the list of spare envelopes.
func (n *network) recycle(m *envelope) {
	m.next = n.spare
	n.spare = m
}
