package kernel

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// completionsLeast is the minimum size of a completion queue, unless the device allows only smaller
// queues. Because of this size a few completion queues are enough for many queue pairs.
const completionsLeast = 4096

// completionQueue is a completion queue with room for all requests and receives that its queue
// pairs can have posted at a time. used counts the entries that its queue pairs have reserved.
type completionQueue struct {
	queue completions
	used  int
	// shared counts the queue pairs of each shared receive queue. The entries for all receives of a
	// shared receive queue are reserved once, because any of these queue pairs may complete them in
	// this completion queue.
	shared map[*sharedReceives]int
}

// need returns the number of entries that a queue pair reserves.
func (q *completionQueue) need(sends, receives int, s *sharedReceives) int {
	if s != nil && q.shared[s] > 0 {
		return sends
	}
	return sends + receives
}

// reserve returns a completion queue in which it has reserved entries for a queue pair. s is the
// shared receive queue of the queue pair, or nil.
func (d *device) reserve(sends, receives int, s *sharedReceives) (*completionQueue, error) {
	for _, q := range d.queues {
		if n := q.need(sends, receives, s); q.used+n <= q.queue.Capacity() {
			q.take(n, s)
			return q, nil
		}
	}
	n := sends + receives
	if n > d.completionsMost {
		return nil, fmt.Errorf("%w: %d completions, the device has queues of %d", provider.ErrInsufficientResources, n, d.completionsMost)
	}
	made, err := d.context.newCompletions(min(max(n, completionsLeast), d.completionsMost), d.channel)
	if err != nil {
		return nil, err
	}
	q := &completionQueue{queue: made, shared: map[*sharedReceives]int{}}
	d.queues = append(d.queues, q)
	q.take(n, s)
	return q, nil
}

func (q *completionQueue) take(n int, s *sharedReceives) {
	q.used += n
	if s != nil {
		q.shared[s]++
	}
}

// release gives the entries of a queue pair back. The caller has polled all completions of the
// queue pair before.
func (q *completionQueue) release(sends, receives int, s *sharedReceives) {
	q.used -= sends
	if s == nil {
		q.used -= receives
		return
	}
	if q.shared[s]--; q.shared[s] == 0 {
		delete(q.shared, s)
		q.used -= receives
	}
}
