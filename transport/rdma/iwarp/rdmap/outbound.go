package rdmap

import "github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"

// OutboundQueue holds the reads that have been requested and not yet answered, at
// most ORD of them (the ORQ of RFC 5040 section 6.1), and matches the segments of
// Read Responses to them. What the caller has to know about a read lies beside it
// as a T.
type OutboundQueue[T any] struct {
	reads []outboundRead[T] // ring
	head  int
	held  int
}

type outboundRead[T any] struct {
	sinkSTag uint32
	sinkTO   uint64
	size     uint32
	placed   uint32 // octets that have arrived
	value    T
}

// NewOutboundQueue returns a queue for ord reads. Zero means that no read can be
// requested.
func NewOutboundQueue[T any](ord int) OutboundQueue[T] {
	return OutboundQueue[T]{reads: make([]outboundRead[T], ord)}
}

// Len returns how many reads are outstanding.
func (q *OutboundQueue[T]) Len() int { return q.held }

// Full reports whether another request has to wait for a response.
func (q *OutboundQueue[T]) Full() bool { return q.held == len(q.reads) }

// Push accounts for a request that is about to be sent. The queue must not be
// full.
func (q *OutboundQueue[T]) Push(r *ReadRequest, value T) {
	if q.Full() {
		panic("rdmap: push to a full queue")
	}
	q.reads[(q.head+q.held)%len(q.reads)] = outboundRead[T]{
		sinkSTag: r.SinkSTag, sinkTO: r.SinkTO, size: r.Size, value: value,
	}
	q.held++
}

// Front returns what the caller keeps with the oldest read. It is valid until
// Pop. The queue must not be empty.
func (q *OutboundQueue[T]) Front() *T {
	if q.held == 0 {
		panic("rdmap: front of an empty queue")
	}
	return &q.reads[q.head].value
}

// Check returns where in the sink of the oldest read the payload of a Read
// Response segment belongs. It changes nothing. Errors: ErrOpcode without an
// outstanding read, ddp.ErrSTag and ddp.ErrBounds for another place than the
// next octets of the sink, ErrRemoteOperation for a response that ends early.
//
// A segment without payload is not checked for its STag and offset (RFC 5041
// section 5.2).
func (q *OutboundQueue[T]) Check(h *ddp.Tagged, payload int) (int, error) {
	if q.held == 0 {
		return 0, ErrOpcode
	}
	r := &q.reads[q.head]
	if payload > 0 {
		switch {
		case h.STag != r.sinkSTag:
			return 0, ddp.ErrSTag
		case h.TO != r.sinkTO+uint64(r.placed), uint64(payload) > uint64(r.size-r.placed):
			return 0, ddp.ErrBounds
		}
	}
	if h.Last && uint64(r.placed)+uint64(payload) != uint64(r.size) {
		return 0, ErrRemoteOperation
	}
	return int(r.placed), nil
}

// Advance accounts for a segment that passed Check and has been placed. It
// returns true with the last one: the read is complete and the caller pops it.
func (q *OutboundQueue[T]) Advance(h *ddp.Tagged, payload int) bool {
	q.reads[q.head].placed += uint32(payload)
	return h.Last
}

// Pop removes the oldest read, complete or flushed, and forgets its value.
func (q *OutboundQueue[T]) Pop() {
	if q.held == 0 {
		panic("rdmap: pop of an empty queue")
	}
	q.reads[q.head] = outboundRead[T]{}
	q.head = (q.head + 1) % len(q.reads)
	q.held--
}
