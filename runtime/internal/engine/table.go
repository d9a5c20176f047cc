package engine

// key is the address of a message, and the one that a posted receive matches. -1 is the
// wildcard of the source or the tag.
type key struct {
	context     uint32
	source, tag int32
}

// hash spreads keys over buckets (multiplication by odd 64-bit constants, the
// high half taken, as in Fibonacci hashing; Knuth, TAOCP 3, 6.4).
func (k key) hash() uint32 {
	h := (uint64(k.context)<<32 | uint64(uint32(k.tag))) * 0x9e3779b97f4a7c15
	h ^= uint64(uint32(k.source)) * 0xc2b2ae3d27d4eb4f
	return uint32((h ^ h>>29) >> 16)
}

// entry is the place of a posted receive or of a message in a table. Entries of
// one key form a queue in the order of insertion: its head, the leader, is
// chained in its bucket, the others are reached through the leader.
type entry struct {
	key
	in    bool   // is in a table, or in the front of a matcher
	led   bool   // is the leader of its queue in a table
	ahead bool   // is in the front
	seq   uint64 // order of insertion among all tables of a matcher

	chain      *entry // leaders: next leader of the bucket
	next, prev *entry // neighbours in the queue; prev of the leader is nil
	tail       *entry // leaders: last of the queue

	req *Request // the owner of the entry: req or msg
	msg *message
}

// table finds the oldest entry of a key at a cost that does not depend on the
// entries of other keys.
type table struct {
	buckets []*entry // a power of two; grown, never shrunk
	leaders int      // queues in the table
	entries int      // entries in the table
}

// minBuckets is the first size of a table.
const minBuckets = 64

// find returns the oldest entry of k, or nil.
func (t *table) find(k key) *entry {
	if t.entries == 0 {
		return nil
	}
	for e := t.buckets[k.hash()&uint32(len(t.buckets)-1)]; e != nil; e = e.chain {
		if e.key == k {
			return e
		}
	}
	return nil
}

// pop takes the oldest entry of k out; nil if there is none.
func (t *table) pop(k key) *entry {
	if t.entries == 0 {
		return nil
	}
	slot := &t.buckets[k.hash()&uint32(len(t.buckets)-1)]
	for *slot != nil && (*slot).key != k {
		slot = &(*slot).chain
	}
	e := *slot
	if e != nil {
		t.succeed(slot, e)
		t.out(e)
	}
	return e
}

// insert appends e to the queue of its key.
func (t *table) insert(e *entry) {
	if t.leaders >= len(t.buckets) {
		t.grow()
	}
	t.entries++
	e.in = true
	slot := &t.buckets[e.hash()&uint32(len(t.buckets)-1)]
	for l := *slot; l != nil; l = l.chain {
		if l.key == e.key {
			e.prev, l.tail.next, l.tail = l.tail, e, e
			return
		}
	}
	t.leaders++
	e.led, e.tail, e.chain, *slot = true, e, *slot, e
}

// remove takes e out.
func (t *table) remove(e *entry) {
	if e.led {
		slot := &t.buckets[e.hash()&uint32(len(t.buckets)-1)]
		for *slot != e {
			slot = &(*slot).chain
		}
		t.succeed(slot, e)
	} else {
		// The leader is needed only when its tail goes.
		e.prev.next = e.next
		if e.next != nil {
			e.next.prev = e.prev
		} else {
			t.find(e.key).tail = e.prev
		}
	}
	t.out(e)
}

// succeed puts the second of a queue in the place of its leader e, which slot
// points to.
func (t *table) succeed(slot **entry, e *entry) {
	heir := e.next
	if heir == nil {
		*slot = e.chain
		t.leaders--
		return
	}
	heir.prev, heir.led, heir.tail, heir.chain = nil, true, e.tail, e.chain
	*slot = heir
}

// out clears the links of an entry that is in no queue any more.
func (t *table) out(e *entry) {
	t.entries--
	e.in, e.led = false, false
	e.chain, e.next, e.prev, e.tail = nil, nil, nil, nil
}

// grow doubles the buckets.
func (t *table) grow() {
	old := t.buckets
	t.buckets = make([]*entry, max(minBuckets, 2*len(old)))
	for _, l := range old {
		for l != nil {
			rest := l.chain
			slot := &t.buckets[l.hash()&uint32(len(t.buckets)-1)]
			l.chain, *slot = *slot, l
			l = rest
		}
	}
}

// each calls f for every entry. f may remove that entry and no other.
func (t *table) each(f func(*entry)) {
	if t.entries == 0 {
		return
	}
	for _, l := range t.buckets {
		for l != nil {
			rest := l.chain
			for e := l; e != nil; {
				next := e.next
				f(e)
				e = next
			}
			l = rest
		}
	}
}
