package kernel

import (
	"fmt"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"
)

// completionsLeast is the least size of a completion queue, so that few are enough.
const completionsLeast = 4096

// completionQueue has room for all that its queue pairs can have posted.
type completionQueue struct {
	queue completions
	used  int
	// shared counts the queue pairs of each shared receive queue, all of whose receives may
	// be completed here.
	shared map[*sharedReceives]int
}

// need is how much room a queue pair takes.
func (q *completionQueue) need(sends, receives int, s *sharedReceives) int {
	if s != nil && q.shared[s] > 0 {
		return sends
	}
	return sends + receives
}

// reserve returns a queue with room for a queue pair, whose receives are those of s if that
// is not nil.
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

// release gives back the room of a queue pair whose completions have been taken.
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
