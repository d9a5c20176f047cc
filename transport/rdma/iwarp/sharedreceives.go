package iwarp

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// sharedReceives is a shared receive queue. A message takes the receive that was posted last,
// because the memory of this receive is the most likely to be in a cache.
type sharedReceives struct {
	posted []*provider.Receive
}

var _ provider.SharedReceiveQueue = (*sharedReceives)(nil)

// NewSharedReceiveQueue implements provider.Device.
func (d *device) NewSharedReceiveQueue(c provider.SharedReceiveConfig) (provider.SharedReceiveQueue, error) {
	return &sharedReceives{posted: make([]*provider.Receive, 0, c.MaxReceives)}, nil
}

// Post implements provider.SharedReceiveQueue.
func (s *sharedReceives) Post(r *provider.Receive) { s.posted = append(s.posted, r) }

// Close implements provider.SharedReceiveQueue.
func (s *sharedReceives) Close() { s.posted = nil }

// peek returns the receive that was posted last, and does not remove it. It returns nil if no
// receive is posted.
func (s *sharedReceives) peek() *provider.Receive {
	if len(s.posted) == 0 {
		return nil
	}
	return s.posted[len(s.posted)-1]
}

// drop removes the receive that was posted last. At least one receive must be posted.
func (s *sharedReceives) drop() {
	s.posted = s.posted[:len(s.posted)-1]
}

// peekReceive returns the receive that the next message takes, or nil if no receive is posted.
func (p *queuePair) peekReceive() *provider.Receive {
	if p.shared != nil {
		return p.shared.peek()
	}
	return p.config.Receives.Peek()
}

// takeReceive removes the receive for the next message from the queue, and returns this receive. It
// returns nil if no receive is posted.
func (p *queuePair) takeReceive() *provider.Receive {
	if p.shared == nil {
		return p.config.Receives.Next()
	}
	r := p.shared.peek()
	if r != nil {
		p.shared.drop()
	}
	return r
}

// deliver completes the receive that peekReceive has returned, with a message that has no flags.
func (p *queuePair) deliver(r *provider.Receive, length int) {
	if p.shared != nil {
		p.shared.drop()
	}
	p.config.Receives.Deliver(r, length)
}

// abandon fails the receive of an incomplete message if this receive is from the shared queue.
// Receives of the endpoint's own queue need no such treatment, because package verbs flushes them.
func (p *queuePair) abandon() {
	if m := p.rx.message; m != nil && p.shared != nil {
		p.rx.message = nil
		p.config.Receives.Fail(m, provider.StatusFlushed)
	}
}
