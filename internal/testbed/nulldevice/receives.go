package nulldevice

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// receives is a ring of posted receives. The mutex wire of its device guards the ring.
type receives struct {
	device     *device
	ring       []*provider.Receive
	head, tail int // numbers of receives that were taken (head) and posted (tail) so far
}

var _ provider.SharedReceiveQueue = (*receives)(nil)

// newReceives returns a ring with room for at least n receives. The size of the ring is a power of two.
func newReceives(d *device, n int) *receives {
	size := 1
	for size < n {
		size *= 2
	}
	return &receives{device: d, ring: make([]*provider.Receive, size)}
}

// NewSharedReceiveQueue implements provider.Device.
func (d *device) NewSharedReceiveQueue(c provider.SharedReceiveConfig) (provider.SharedReceiveQueue, error) {
	return newReceives(d, c.MaxReceives), nil
}

// Post implements provider.SharedReceiveQueue.
func (q *receives) Post(r *provider.Receive) {
	q.device.wire.Lock()
	q.ring[q.tail&(len(q.ring)-1)] = r
	q.tail++
	q.device.wire.Unlock()
}

// take removes the oldest posted receive and returns it, or returns nil if no receive is posted. The caller
// holds the mutex wire of the device.
func (q *receives) take() *provider.Receive {
	if q.head == q.tail {
		return nil
	}
	r := q.ring[q.head&(len(q.ring)-1)]
	q.head++
	return r
}

// Close implements provider.SharedReceiveQueue.
func (q *receives) Close() {
	q.device.wire.Lock()
	q.head = q.tail
	clear(q.ring)
	q.device.wire.Unlock()
}
