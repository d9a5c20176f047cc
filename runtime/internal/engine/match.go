package engine

// shape is the set of parts of a key that are wildcards: bit 0 the source, bit 1 the tag.
type shape uint8

const (
	shapeExact  shape = 0
	wildSource  shape = 1
	wildTag     shape = 2
	shapeAny          = wildSource | wildTag
	shapesTotal       = 4
)

// shapeOf returns the shape of a posted receive or a probe.
func shapeOf(k key) shape {
	s := shapeExact
	if k.source < 0 {
		s |= wildSource
	}
	if k.tag < 0 {
		s |= wildTag
	}
	return s
}

// as returns the key under which a posted receive of shape s waits for a message
// with key k.
func (k key) as(s shape) key {
	if s&wildSource != 0 {
		k.source = AnySource
	}
	if s&wildTag != 0 {
		k.tag = AnyTag
	}
	return k
}

// matcher matches posted receives and unexpected messages. It knows nothing of transports, of the
// bytes of messages, or of time.
//
// A posted receive is in the front (see below) or in the table of its shape. If an arriving message does
// not match the receives in the front, the matcher looks for a receive in each table that has entries.
// The key of this lookup is the message's key with the wildcards of the table's shape. The matcher takes
// the oldest of the at most four receives that it finds. An unexpected message is in the table of the
// exact shape. It is also in the table of each wildcard shape that a receive or probe has used while
// there was an unexpected message. So a program without wildcards does not pay for these tables.
//
// The front is a queue of posted receives that have the same key and are in no table. They are older
// than all receives in tables, because a receive joins the front only if the tables are empty and
// the front has no receive with another key. Usually all receives are in the front: a blocking
// receive is often the only receive, and the receives of a window of messages have the same key. The
// front needs no hash.
type matcher struct {
	front      queue
	posted     [shapesTotal]table
	unexpected [shapesTotal]table
	indexed    [shapesTotal]bool // for s other than shapeExact: whether unexpected[s] is maintained
	seq        uint64            // order of posting and of arrival
}

// post inserts a receive that no unexpected message matches.
func (m *matcher) post(e *entry) {
	m.seq++
	e.seq = m.seq
	if m.tabled() == 0 && (m.front.head == nil || m.front.head.key == e.key) {
		m.front.push(e)
		return
	}
	m.posted[shapeOf(e.key)].insert(e)
}

// tabled returns how many of the posted receives are in tables.
func (m *matcher) tabled() int {
	return m.posted[shapeExact].entries + m.posted[wildSource].entries + m.posted[wildTag].entries + m.posted[shapeAny].entries
}

// eachPosted calls f for every posted receive. f may remove that receive and no other.
func (m *matcher) eachPosted(f func(*entry)) {
	for e := m.front.head; e != nil; {
		next := e.next
		f(e)
		e = next
	}
	for s := range m.posted {
		m.posted[s].each(f)
	}
}

// unpost removes a receive and returns true, or returns false if the receive is not posted.
func (m *matcher) unpost(e *entry) bool {
	switch {
	case !e.in:
		return false
	case e.ahead:
		m.front.remove(e)
	default:
		m.posted[shapeOf(e.key)].remove(e)
	}
	return true
}

// matches reports whether a receive with key k, which may have wildcards, matches a
// message with key g.
func (k key) matches(g key) bool {
	return k.context == g.context && (k.source == g.source || k.source < 0) && (k.tag == g.tag || k.tag < 0)
}

// receive removes and returns the oldest posted receive that matches a message with
// key k. It returns nil if there is none.
func (m *matcher) receive(k key) *entry {
	if e := m.front.head; e != nil && e.matches(k) {
		m.front.remove(e)
		return e
	}
	if m.posted[wildSource].entries+m.posted[wildTag].entries+m.posted[shapeAny].entries == 0 {
		return m.posted[shapeExact].pop(k)
	}
	best := m.posted[shapeExact].find(k)
	for s := wildSource; s < shapesTotal; s++ {
		if m.posted[s].entries == 0 {
			continue
		}
		if e := m.posted[s].find(k.as(s)); e != nil && (best == nil || e.seq < best.seq) {
			best = e
		}
	}
	if best != nil {
		m.posted[shapeOf(best.key)].remove(best)
	}
	return best
}

// add inserts a message that no posted receive matches.
func (m *matcher) add(g *message, k key) {
	m.seq++
	for s := shapeExact; s < shapesTotal; s++ {
		if s == shapeExact || m.indexed[s] {
			m.link(g, k, s, m.seq)
		}
	}
}

// link inserts a message into the table of one shape.
func (m *matcher) link(g *message, k key, s shape, seq uint64) {
	e := &g.links[s]
	e.key, e.seq, e.msg = k.as(s), seq, g
	m.unexpected[s].insert(e)
}

// look returns the oldest unexpected message that a receive or a probe with key k
// matches, or nil. k may have wildcards.
func (m *matcher) look(k key) *message {
	if m.unexpected[shapeExact].entries == 0 {
		return nil
	}
	s := shapeOf(k)
	if s != shapeExact && !m.indexed[s] {
		m.index(s)
	}
	if e := m.unexpected[s].find(k); e != nil {
		return e.msg
	}
	return nil
}

// take removes an unexpected message from all tables.
func (m *matcher) take(g *message) {
	for s := range g.links {
		if e := &g.links[s]; e.in {
			m.unexpected[s].remove(e)
		}
	}
}

// index creates the table of a wildcard shape, with all present unexpected messages.
func (m *matcher) index(s shape) {
	m.indexed[s] = true
	all := make([]*entry, 0, m.unexpected[shapeExact].entries)
	m.unexpected[shapeExact].each(func(e *entry) { all = append(all, e) })
	sortBySeq(all)
	for _, e := range all {
		m.link(e.msg, e.key, s, e.seq)
	}
}
