package rdmap

import "github.com/gorun-hpc/gorun/transport/rdma/iwarp/ddp"

// OutboundQueue holds the Reads that were requested and are not answered yet, and matches the
// segments of Read Responses to these Reads. It holds at most ORD Reads (the ORQ of RFC 5040
// section 6.1). For each Read the caller can store a value of type T in the queue.
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

// NewOutboundQueue returns a queue for ord Reads. If ord is zero, no Read can be requested.
func NewOutboundQueue[T any](ord int) OutboundQueue[T] {
	return OutboundQueue[T]{reads: make([]outboundRead[T], ord)}
}

// Len returns the number of outstanding Reads.
func (q *OutboundQueue[T]) Len() int { return q.held }

// Full reports whether the next request has to wait for a response.
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

// Front returns the caller's value of the oldest Read. It is valid until Pop. The queue must not be
// empty.
func (q *OutboundQueue[T]) Front() *T {
	if q.held == 0 {
		panic("rdmap: front of an empty queue")
	}
	return &q.reads[q.head].value
}

// Check returns the place of the payload of a Read Response segment, as an offset in the sink of
// the oldest Read. Check changes no state. The error is ErrOpcode if no Read is outstanding. It is
// ddp.ErrSTag or ddp.ErrBounds if the segment does not name the next octets of the sink. It is
// ErrRemoteOperation if the response is shorter than the Read.
//
// The STag and offset of a segment without payload are not checked (RFC 5041 section 5.2).
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

// Advance accounts for a segment that has passed Check and has been placed. It returns true for the
// last segment. Then the Read is complete, and the caller removes it by Pop.
func (q *OutboundQueue[T]) Advance(h *ddp.Tagged, payload int) bool {
	q.reads[q.head].placed += uint32(payload)
	return h.Last
}

// Pop removes the oldest Read and its value. The Read is complete, or was flushed.
func (q *OutboundQueue[T]) Pop() {
	if q.held == 0 {
		panic("rdmap: pop of an empty queue")
	}
	q.reads[q.head] = outboundRead[T]{}
	q.head = (q.head + 1) % len(q.reads)
	q.held--
}
