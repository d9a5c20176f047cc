package engine

// key is the address of a message, or the pattern that a posted receive or a probe matches. In a
// pattern, source or tag may be -1, the wildcard.
type key struct {
	context     uint32
	source, tag int32
}

// hash returns a hash value of the key. It multiplies by odd 64-bit constants and uses the higher
// bits of the product, as Fibonacci hashing does (Knuth, TAOCP 3, 6.4).
func (k key) hash() uint32 {
	h := (uint64(k.context)<<32 | uint64(uint32(k.tag))) * 0x9e3779b97f4a7c15
	h ^= uint64(uint32(k.source)) * 0xc2b2ae3d27d4eb4f
	return uint32((h ^ h>>29) >> 16)
}

// entry represents a posted receive or an unexpected message in a table or in the front of a
// matcher. In a table, the entries with the same key form a queue in the order of insertion. Only
// the head of the queue, its leader, is in the chain of a bucket. The other entries are reached
// through the leader.
type entry struct {
	key
	in    bool   // the entry is in a table or in the front of a matcher
	led   bool   // the entry is the leader of its queue in a table
	ahead bool   // the entry is in the front of a matcher
	seq   uint64 // number of the insertion; all tables of a matcher share one counter

	chain      *entry // leader: next leader of the bucket
	next, prev *entry // neighbours in the queue; prev of the leader is nil
	tail       *entry // leader: last entry of the queue

	req *Request // the receive of the entry, or nil if it is for msg
	msg *message
}

// table is a hash table of queues of entries. It finds the oldest entry with a key at an average
// cost that does not depend on the number of entries with other keys.
type table struct {
	buckets []*entry // chains of leaders; their number is a power of two and never shrinks
	leaders int      // number of queues
	entries int      // number of entries
}

// minBuckets is the number of buckets of a table after its first insertion.
const minBuckets = 64

// find returns the oldest entry with key k, or nil.
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

// pop removes and returns the oldest entry with key k. It returns nil if there is none.
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

// remove removes e, which must be in the table.
func (t *table) remove(e *entry) {
	if e.led {
		slot := &t.buckets[e.hash()&uint32(len(t.buckets)-1)]
		for *slot != e {
			slot = &(*slot).chain
		}
		t.succeed(slot, e)
	} else {
		// e is not the leader. If e is the last entry of the queue, the field tail of the leader
		// changes.
		e.prev.next = e.next
		if e.next != nil {
			e.next.prev = e.prev
		} else {
			t.find(e.key).tail = e.prev
		}
	}
	t.out(e)
}

// succeed makes the second entry of a queue the leader in place of e. slot is the link of the
// chain that points to e. If there is no second entry, succeed removes the queue from the chain.
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

// out clears the links of an entry that has been removed from its queue.
func (t *table) out(e *entry) {
	t.entries--
	e.in, e.led = false, false
	e.chain, e.next, e.prev, e.tail = nil, nil, nil, nil
}

// grow doubles the number of buckets.
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

// each calls f for every entry, in no particular order. f may remove that entry and no other.
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
