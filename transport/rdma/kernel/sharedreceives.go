package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// sharedReceives is a shared receive queue.
type sharedReceives struct {
	device   *device
	queue    receives
	capacity int
	// posted holds the posted receives, indexed by Receive.Number.
	posted []*provider.Receive
}

var _ provider.SharedReceiveQueue = (*sharedReceives)(nil)

// NewSharedReceiveQueue implements provider.Device.
func (d *device) NewSharedReceiveQueue(c provider.SharedReceiveConfig) (provider.SharedReceiveQueue, error) {
	q, err := c.Domain.(*domain).domain.newReceives(c.MaxReceives, c.MaxSegments)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrInsufficientResources, err)
	}
	return &sharedReceives{device: d, queue: q, capacity: c.MaxReceives, posted: make([]*provider.Receive, c.MaxReceives)}, nil
}

// Post implements provider.SharedReceiveQueue.
func (s *sharedReceives) Post(r *provider.Receive) {
	d := s.device
	d.translateReceive(0, receiveBit|r.Number&numberMask, r)
	s.posted[r.Number] = r
	// The queue has room, because package verbs posts at most capacity receives. So an error means
	// that the queue has failed or that the device is gone, and the adapter ends.
	if _, err := s.queue.PostReceives(d.receives[:1]); err != nil {
		d.fail(fmt.Errorf("post shared receive: %w", err))
		d.wake()
	}
}

// take removes the receive with the given number from the posted receives and returns it. It
// returns nil if no receive with this number is posted.
func (s *sharedReceives) take(number uint64) *provider.Receive {
	if number >= uint64(len(s.posted)) {
		return nil
	}
	r := s.posted[number]
	if r == nil {
		return nil
	}
	s.posted[number] = nil
	return r
}

// Close implements provider.SharedReceiveQueue.
func (s *sharedReceives) Close() {
	clear(s.posted)
	// An error other than EBUSY means that the device and its queues are gone.
	if err := s.queue.Close(); errors.Is(err, unix.EBUSY) {
		s.device.left = append(s.device.left, s.queue)
	}
}
