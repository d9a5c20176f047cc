package virtual

// envelope is a message under way.
type envelope struct {
	lane            *lane
	from, to, bytes int
	segment         *Segment
	payload         []byte // of real memory
	// offered and demanded are the steps of a rendezvous. arrived: the receiver has the
	// message from at on. released: the sender may go on.
	offered, demanded, arrived, released bool
	at                                   Time
	next                                 *envelope // in the lane
}

// lane is the messages from one rank to another that were sent and not received, in order.
type lane struct {
	first, last *envelope
	receiver    *Rank // waits for the first message
}

// awaited returns the rank that waits for m.
func (l *lane) awaited(m *envelope) *Rank {
	if l.first != m {
		return nil
	}
	return l.receiver
}

func laneKey(from, to int) uint64 { return uint64(from)<<32 | uint64(to) }

// lane returns the lane from one rank to another.
func (n *network) lane(from, to int) *lane {
	key := laneKey(from, to)
	l := n.lanes[key]
	if l == nil {
		l = &lane{}
		n.lanes[key] = l
	}
	return l
}

// send appends a message to its lane.
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

// take removes the first message of a lane.
func (n *network) take(m *envelope) {
	l := m.lane
	if l.first = m.next; l.first == nil {
		l.last = nil
		delete(n.lanes, laneKey(m.from, m.to))
	}
	m.lane, m.next = nil, nil
}

// recycle keeps an envelope that nobody refers to any more.
func (n *network) recycle(m *envelope) {
	m.next = n.spare
	n.spare = m
}
