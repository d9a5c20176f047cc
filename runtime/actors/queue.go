package actors

import "sync"

// item is a message in a mailbox. in is its receive stream, nil for a message of this rank. cost
// is its credit there, or its size in the mailbox.
type item struct {
	message any
	in      *receiveStream
	cost    uint32
}

// Lengths of the pieces of a queue. The first pieces belong to one actor and grow; those of a long
// queue have the full length and are shared by all actors.
const (
	pieceFirst = 4
	pieceOwn   = 16
	pieceWhole = 256
)

// wholePieces are unused pieces.
var wholePieces = sync.Pool{New: func() any { return new([pieceWhole]item) }}

// queue holds the messages of a mailbox in order, in pieces. The reader takes one piece at a
// time, and then reads it without a lock.
type queue struct {
	last   []item   // the piece that push appends to
	full   [][]item // the pieces before it
	spare  []item   // an empty piece of the actor's own
	pushed uint64   // number of items so far
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

// empty reports whether the queue has no item.
func (q *queue) empty() bool { return len(q.last) == 0 && len(q.full) == 0 }

// extend makes space in last, which is full.
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

// take removes and returns the first piece, or nil if the queue is empty. It belongs to the
// caller until giveBack, when all its items must be zero.
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
