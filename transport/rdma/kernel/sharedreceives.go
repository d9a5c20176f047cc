package kernel

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/internal/uverbs"
	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// sharedReceives is a shared receive queue.
type sharedReceives struct {
	device   *device
	queue    *uverbs.SharedReceiveQueue
	capacity int
	// posted are the receives by their numbers, count how many.
	posted []*provider.Receive
	count  int
	// limit is the number below which reached is called, or 0.
	limit   int
	reached func()
}

var _ provider.SharedReceiveQueue = (*sharedReceives)(nil)

// NewSharedReceiveQueue implements provider.Device. The limit is counted here: the device's
// event would say the same later.
func (d *device) NewSharedReceiveQueue(c provider.SharedReceiveConfig) (provider.SharedReceiveQueue, error) {
	q, err := c.Domain.(*domain).domain.NewSharedReceiveQueue(c.MaxReceives, c.MaxSegments, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	}
	return &sharedReceives{device: d, queue: q, capacity: c.MaxReceives, posted: make([]*provider.Receive, c.MaxReceives), reached: c.LimitReached}, nil
}

// Post implements provider.SharedReceiveQueue.
func (s *sharedReceives) Post(r *provider.Receive) {
	d := s.device
	d.translateReceive(0, receiveBit|r.Number&numberMask, r)
	s.posted[r.Number] = r
	s.count++
	// There is room: the queue is as long as package verbs lets it become. Where a device
	// that is gone takes no more, the adapter ends.
	if _, err := s.queue.PostReceives(d.receives[:1]); err != nil {
		d.failure = fmt.Errorf("post shared receive: %w", err)
	}
}

// take returns the receive of a completion, which is not posted any more.
func (s *sharedReceives) take(number uint64) *provider.Receive {
	if number >= uint64(len(s.posted)) {
		return nil
	}
	r := s.posted[number]
	if r == nil {
		return nil
	}
	s.posted[number] = nil
	s.count--
	s.watch()
	return r
}

// SetLimit implements provider.SharedReceiveQueue.
func (s *sharedReceives) SetLimit(n int) error {
	s.limit = n
	s.watch()
	return nil
}

// watch says that the limit is passed.
func (s *sharedReceives) watch() {
	if s.count < s.limit {
		s.limit = 0
		s.reached()
	}
}

// Close implements provider.SharedReceiveQueue.
func (s *sharedReceives) Close() {
	clear(s.posted)
	// An error means that the device is gone, and the queue with it.
	_ = s.queue.Close()
}
