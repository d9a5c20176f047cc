package rdmap

// InboundQueue holds the Read Requests of a peer, in order, until they are answered. It holds at
// most IRD requests (the IRQ of RFC 5040 section 6.1).
type InboundQueue struct {
	requests []ReadRequest // ring
	head     int
	held     int
}

// NewInboundQueue returns a queue for ird requests. If ird is zero, the peer may not read.
func NewInboundQueue(ird int) InboundQueue {
	return InboundQueue{requests: make([]ReadRequest, ird)}
}

// Len returns the number of requests in the queue.
func (q *InboundQueue) Len() int { return q.held }

// Push adds a request that has arrived. If the queue already holds IRD requests, the peer has sent
// too many, and the error is ErrStream. The kernel's siw reports the same error.
func (q *InboundQueue) Push(r ReadRequest) error {
	if q.held == len(q.requests) {
		return ErrStream
	}
	q.requests[(q.head+q.held)%len(q.requests)] = r
	q.held++
	return nil
}

// Front returns the request to answer now. It is valid until Pop. The queue must
// not be empty.
func (q *InboundQueue) Front() *ReadRequest {
	if q.held == 0 {
		panic("rdmap: front of an empty queue")
	}
	return &q.requests[q.head]
}

// Pop removes the request at the front. The caller calls Pop when the last segment of the response
// was passed on for sending.
func (q *InboundQueue) Pop() {
	if q.held == 0 {
		panic("rdmap: pop of an empty queue")
	}
	q.head = (q.head + 1) % len(q.requests)
	q.held--
}
