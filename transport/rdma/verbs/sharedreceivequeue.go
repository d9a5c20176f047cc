package verbs

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// SharedReceiveConfig holds the parameters of NewSharedReceiveQueue.
type SharedReceiveConfig struct {
	// Domain is the protection domain of the receives' memory and of all endpoints that use
	// the queue.
	Domain *ProtectionDomain
	// Limits is the completion queue that takes EventLimitReached. If Limits is nil, the event is
	// discarded.
	Limits *CompletionQueue
	// MaxReceives is the maximum number of posted receives, and MaxSegments the maximum number of
	// segments of each receive.
	MaxReceives, MaxSegments int
}

// SharedReceiveQueue holds receives for any number of endpoints (dat_srq_create(3DAT)). Each
// message that arrives at one of the endpoints takes a receive. The order in which receives are
// taken is not defined. The completion of a receive goes to EndpointConfig.Receives of the
// endpoint at which the message arrived.
type SharedReceiveQueue struct {
	adapter     *Adapter
	domain      *ProtectionDomain
	limits      *CompletionQueue
	queue       provider.SharedReceiveQueue
	slots       []receiveSlot
	free        []uint32 // indices of free slots, of which the last is used next
	segmentsMax int
	// limit is the number of posted receives below which EventLimitReached is due. It is 0 if no
	// event was requested.
	limit int
	users int
	freed bool
}

// NewSharedReceiveQueue makes a shared receive queue. It fails with ErrModelNotSupported if the
// adapter has no shared receive queues.
func (a *Adapter) NewSharedReceiveQueue(c SharedReceiveConfig) (*SharedReceiveQueue, error) {
	const op = "new shared receive queue"
	a.mu.Lock()
	defer a.unlock()
	switch {
	case a.closed || a.failure != nil || !c.Domain.valid(a) || c.Limits != nil && !c.Limits.valid(a):
		return nil, a.err(op, ErrInvalidHandle)
	case a.limits.MaxSharedReceives == 0:
		return nil, a.err(op, ErrModelNotSupported)
	case c.MaxReceives < 1 || c.MaxReceives > a.limits.MaxSharedReceives || c.MaxSegments < 0 || c.MaxSegments > a.limits.MaxSegments:
		return nil, a.err(op, ErrInvalidParameter)
	}
	s := &SharedReceiveQueue{adapter: a, domain: c.Domain, limits: c.Limits, segmentsMax: c.MaxSegments}
	if c.Limits != nil {
		c.Limits.feeds.add(StreamLimit, 0, 1)
		if !c.Limits.feeds.legal() {
			c.Limits.feeds.add(StreamLimit, 0, -1)
			return nil, a.err(op, ErrInvalidParameter)
		}
	}
	s.slots, s.free = makeReceives(c.MaxReceives, c.MaxSegments), make([]uint32, c.MaxReceives)
	for i := range s.free {
		s.free[i] = uint32(c.MaxReceives - 1 - i)
	}
	queue, err := a.device.NewSharedReceiveQueue(provider.SharedReceiveConfig{
		Domain: c.Domain.domain, MaxReceives: c.MaxReceives, MaxSegments: c.MaxSegments,
	})
	if err != nil {
		if c.Limits != nil {
			c.Limits.feeds.add(StreamLimit, 0, -1)
		}
		return nil, a.err(op, err)
	}
	s.queue = queue
	a.shared[s] = struct{}{}
	c.Domain.users++
	return s, nil
}

// valid reports whether endpoints of an adapter can use the queue.
func (s *SharedReceiveQueue) valid(a *Adapter) bool { return s.adapter == a && !s.freed }

// PostReceive posts memory for one message, like Endpoint.PostReceive. The only flag that the
// receive may have is FlagRoom.
func (s *SharedReceiveQueue) PostReceive(r *ReceiveRequest) error {
	const op = "post shared receive"
	if s == nil {
		return &OpError{Op: op, Fault: ErrInvalidHandle}
	}
	a := s.adapter
	a.mu.Lock()
	var err error = ErrInvalidHandle
	if !s.freed && !a.closed {
		err = s.post(r)
	}
	a.unlock()
	if err != nil {
		return a.err(op, err)
	}
	return nil
}

// post validates a receive and posts it to the provider's queue.
func (s *SharedReceiveQueue) post(r *ReceiveRequest) error {
	length, err := s.adapter.checkReceive(r, s.domain, s.segmentsMax, 0)
	switch {
	case err != nil:
		return err
	case len(s.free) == 0:
		return ErrInsufficientResources
	}
	n := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.slots[n].fill(r, uint64(n), length)
	s.queue.Post(&s.slots[n].Receive)
	return nil
}

// release frees the slot of a completed receive and returns the receive's ID.
func (s *SharedReceiveQueue) release(r *provider.Receive) uint64 {
	slot := &s.slots[r.Number]
	slot.vacate()
	s.free = append(s.free, uint32(r.Number))
	s.watch()
	return slot.id
}

// Len returns the number of receives that are posted and not complete.
func (s *SharedReceiveQueue) Len() int {
	s.adapter.mu.Lock()
	defer s.adapter.unlock()
	return len(s.slots) - len(s.free)
}

// SetLimit requests one EventLimitReached when fewer than n receives are left
// (dat_srq_set_lw(3DAT)). If fewer than n receives are already left, the event comes at once.
// SetLimit(0) cancels the request.
func (s *SharedReceiveQueue) SetLimit(n int) error {
	const op = "set limit"
	if s == nil {
		return &OpError{Op: op, Fault: ErrInvalidHandle}
	}
	a := s.adapter
	a.mu.Lock()
	defer a.unlock()
	switch {
	case s.freed || a.closed:
		return a.err(op, ErrInvalidHandle)
	case n < 0 || n > len(s.slots):
		return a.err(op, ErrInvalidParameter)
	}
	s.limit = n
	s.watch()
	return nil
}

// watch makes EventLimitReached if fewer than limit receives are left. It makes at most one event for
// each SetLimit.
func (s *SharedReceiveQueue) watch() {
	if len(s.slots)-len(s.free) >= s.limit {
		return
	}
	s.limit = 0
	if s.limits != nil {
		s.limits.push(&Completion{Stream: StreamLimit, Event: &Event{Type: EventLimitReached, SharedReceiveQueue: s}}, true)
	}
}

// Free ends the queue and discards the posted receives without completions. It fails with
// ErrInvalidState while endpoints use the queue.
func (s *SharedReceiveQueue) Free() error {
	const op = "free shared receive queue"
	if s == nil {
		return &OpError{Op: op, Fault: ErrInvalidHandle}
	}
	a := s.adapter
	a.mu.Lock()
	defer a.unlock()
	switch {
	case s.freed || a.closed:
		return a.err(op, ErrInvalidHandle)
	case s.users > 0:
		return a.err(op, ErrInvalidState)
	}
	s.freed = true
	s.queue.Close()
	delete(a.shared, s)
	if s.limits != nil {
		s.limits.feeds.add(StreamLimit, 0, -1)
	}
	s.domain.users--
	return nil
}
