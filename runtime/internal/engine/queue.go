package engine

// queue is a list of entries in the order of insertion: the front of a matcher.
type queue struct {
	head, tail *entry
	length     int // the number of entries
}

// push appends e.
func (q *queue) push(e *entry) {
	e.in, e.ahead = true, true
	q.length++
	if q.tail == nil {
		q.head, q.tail = e, e
		return
	}
	e.prev, q.tail.next, q.tail = q.tail, e, e
}

// remove removes e, which must be in the queue.
func (q *queue) remove(e *entry) {
	q.length--
	if e.prev == nil {
		q.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		q.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.in, e.ahead, e.next, e.prev = false, false, nil, nil
}
