package actors

import "sync"

// item is a message in a mailbox. in is where it came in, nil if it is of this
// rank; cost is what it takes of the credit there, or of the mailbox.
type item struct {
	message any
	in      *receiveStream
	cost    uint32
}

// Lengths of the pieces of a queue: the first are an actor's own and grow, those
// of a long queue are whole and belong to all actors.
const (
	pieceFirst = 4
	pieceOwn   = 16
	pieceWhole = 256
)

// wholePieces are unused pieces.
var wholePieces = sync.Pool{New: func() any { return new([pieceWhole]item) }}

// queue is the messages of a mailbox in order, in pieces: the reader takes a piece at a
// time, which it reads without the senders.
type queue struct {
	last   []item   // is pushed to
	full   [][]item // what was pushed before
	spare  []item   // an empty piece of the actor's own
	pushed uint64   // items ever
}

// push appends an item.
func (q *queue) push(i item) {
	n := len(q.last)
	if n == cap(q.last) {
		q.extend()
		n = len(q.last)
	}
	q.last = q.last[:n+1]
	q.last[n] = i
	q.pushed++
}

// pushAll appends items.
func (q *queue) pushAll(items []item) {
	q.pushed += uint64(len(items))
	for len(items) > 0 {
		n := len(q.last)
		if n == cap(q.last) {
			q.extend()
			n = len(q.last)
		}
		more := copy(q.last[n:cap(q.last)], items)
		q.last, items = q.last[:n+more], items[more:]
	}
}

// empty reports whether nothing is in the queue.
func (q *queue) empty() bool { return len(q.last) == 0 && len(q.full) == 0 }

// extend makes room in last, which is full.
func (q *queue) extend() {
	switch n := len(q.last); {
	case n < pieceOwn:
		more := make([]item, n, max(pieceFirst, 2*n))
		copy(more, q.last)
		q.last = more
	default:
		q.full = append(q.full, q.last)
		q.last = wholePieces.Get().(*[pieceWhole]item)[:0]
	}
}

// take returns the first piece; nil if the queue is empty. It belongs to the caller
// until giveBack, all of it zero.
func (q *queue) take() (first []item) {
	switch {
	case len(q.full) > 0:
		first = q.full[0]
		q.full[0] = nil
		if q.full = q.full[1:]; len(q.full) == 0 {
			q.full = nil
		}
	case len(q.last) > 0:
		first = q.last
		q.last, q.spare = q.spare, nil
	}
	return first
}

// giveBack takes a piece that take returned, or nil.
func (q *queue) giveBack(done []item) {
	switch cap(done) {
	case 0:
	case pieceWhole:
		wholePieces.Put((*[pieceWhole]item)(done[:pieceWhole]))
	default:
		q.spare = done[:0]
	}
}
