package verbs

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// SharedReceiveConfig is what a shared receive queue is made from.
type SharedReceiveConfig struct {
	// Domain is that of its memory and of all its endpoints.
	Domain *ProtectionDomain
	// Limits takes EventLimitReached; nil if the consumer is not interested.
	Limits *CompletionQueue
	// MaxReceives is how many may be posted, MaxSegments bounds each list.
	MaxReceives, MaxSegments int
}

// SharedReceiveQueue holds receives for any number of endpoints (dat_srq_create
// (3DAT)): each message of any of them takes one, in no order that a consumer could
// rely on. Its completion comes where those of the endpoint come.
type SharedReceiveQueue struct {
	adapter     *Adapter
	domain      *ProtectionDomain
	limits      *CompletionQueue
	queue       provider.SharedReceiveQueue
	slots       []receiveSlot
	free        []uint32 // slots, the one to use next at the end
	segmentsMax int
	// limit is the number below which an event comes, or 0.
	limit int
	users int
	freed bool
}

// NewSharedReceiveQueue makes a shared receive queue. It is ErrModelNotSupported on
// an adapter that has none.
func (a *Adapter) NewSharedReceiveQueue(c SharedReceiveConfig) (*SharedReceiveQueue, error) {
	const op = "new shared receive queue"
	a.mu.Lock()
	defer a.unlock()
	switch {
	case a.closed || !c.Domain.valid(a) || c.Limits != nil && !c.Limits.valid(a):
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

// PostReceive posts memory for one message, like Endpoint.PostReceive. It has no
// flags.
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

// post posts a receive if it is right.
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

// release ends the use of a receive and returns its ID.
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

// SetLimit asks for one EventLimitReached when fewer than n receives are left
// (dat_srq_set_lw(3DAT)), at once if that is so already. 0 takes it back.
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

// watch makes the event, once for each SetLimit.
func (s *SharedReceiveQueue) watch() {
	if len(s.slots)-len(s.free) >= s.limit {
		return
	}
	s.limit = 0
	if s.limits != nil {
		s.limits.push(&Completion{Stream: StreamLimit, Event: &Event{Type: EventLimitReached, SharedReceiveQueue: s}}, true)
	}
}

// Free ends the queue and forgets the receives that are posted. It is
// ErrInvalidState while endpoints use it.
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
