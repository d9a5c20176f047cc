package actors

import "sync"

// item is a message in a mailbox. The field in is the message's receive stream, or nil for a message of
// this rank. cost is the credit that the message takes from its stream; for a message of this rank, cost
// is the message's weight.
type item struct {
	message any
	in      *receiveStream
	cost    uint32
}

// Lengths of the pieces of a queue, in items. The first piece belongs to one actor and grows up to
// pieceOwn items. Further pieces have pieceWhole items and come from a pool that all actors share.
const (
	pieceFirst = 4
	pieceOwn   = 16
	pieceWhole = 256
)

// wholePieces is the pool of unused pieces of pieceWhole items.
var wholePieces = sync.Pool{New: func() any { return new([pieceWhole]item) }}

// queue holds the messages of a mailbox in order, in pieces. The reader removes one piece at a time, and
// then reads that piece without a lock.
type queue struct {
	last   []item   // the piece that push appends to
	full   [][]item // the older pieces, oldest first
	spare  []item   // an empty piece that belongs to the actor, reused as last
	pushed uint64   // number of items ever pushed
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

// extend makes space for an item when last is full.
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

// take removes and returns the first piece, or returns nil if the queue is empty. The caller owns the
// piece until it passes the piece to giveBack. Before that, the caller must zero all items.
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

// giveBack returns a piece that take has removed, for reuse. done may be nil.
func (q *queue) giveBack(done []item) {
	switch cap(done) {
	case 0:
	case pieceWhole:
		wholePieces.Put((*[pieceWhole]item)(done[:pieceWhole]))
	default:
		q.spare = done[:0]
	}
}
