package verbs

import "sync/atomic"

// CompletionQueue is an event dispatcher (DAT_EVD). It holds completions of work requests,
// connection events, connection requests that have reached listeners, limit events of shared receive
// queues, and events of the adapter. The queue keeps all entries in the order in which they were
// added. When the consumer makes endpoints and listeners, it chooses which kinds of their entries
// (Stream) go to this queue.
type CompletionQueue struct {
	adapter *Adapter
	// entries is a ring. The entries in use begin at head, and their number is count. notifying is
	// the number of these entries that wake waiters.
	entries          []Completion
	head             int
	count, notifying int
	// into is non-empty only while an Advance makes progress. It is the unused rest of the slice
	// that the caller has passed to Advance. As long as into has room, new entries are written
	// there and not to the ring. Their order is right, because Advance makes progress only if the
	// ring is empty.
	into  []Completion
	feeds feeds
	// waiters counts the goroutines in Wait. ring is the argument of the last Arm, or nil if the queue
	// is not armed.
	waiters int
	ring    func()
	failure error
	// dead is true if failure is set. Err reads dead without the lock, so that a call of Err after
	// every poll is cheap.
	dead  atomic.Bool
	freed bool
}

// NewCompletionQueue makes a completion queue of the given capacity. The consumer must ensure that no
// more entries than this can be outstanding. The number of entries that can be outstanding is the sum
// of the following numbers, each of which counts only if its entries go to this queue:
//   - MaxRequests and MaxReceives of each endpoint, and three connection events for each endpoint;
//   - the backlog of each listener;
//   - the receives of each shared receive queue, and its limit events;
//   - the events of the adapter (Watch).
//
// If the queue has no room for an entry, the entry is lost. The queue and the endpoint of the entry
// are then dead, and Err returns ErrOverflow. There is one exception: a connection request for which
// the queue has no room is refused (ErrBacklogFull), and the queue stays usable.
func (a *Adapter) NewCompletionQueue(capacity int) (*CompletionQueue, error) {
	const op = "new completion queue"
	a.mu.Lock()
	defer a.unlock()
	switch {
	case a.closed || a.failure != nil:
		return nil, a.err(op, ErrInvalidHandle)
	case capacity < 1:
		return nil, a.err(op, ErrInvalidParameter)
	case capacity > a.limits.MaxCompletions:
		return nil, a.err(op, ErrInsufficientResources)
	}
	q := &CompletionQueue{adapter: a, entries: make([]Completion, capacity)}
	a.queues[q] = struct{}{}
	return q, nil
}

// Capacity returns the number of entries that the queue can hold.
func (q *CompletionQueue) Capacity() int { return len(q.entries) }

// Poll moves queued entries into the slice and returns their number. If no entry is queued, Poll
// first makes progress on the adapter, on the caller's goroutine. Poll allocates no memory for
// completions of work requests.
func (q *CompletionQueue) Poll(into []Completion) int {
	n, _ := q.Advance(into)
	return n
}

// Advance does the same as Poll, and also returns the number of steps of progress that the adapter
// has made. A step need not produce an entry: for example, the transfer of a part of a long message
// completes no request. A consumer that also polls other sources can decide from the value of steps
// how soon it calls Advance again.
func (q *CompletionQueue) Advance(into []Completion) (n, steps int) {
	a := q.adapter
	a.mu.Lock()
	if q.count == 0 && !a.closed {
		q.into = into
		steps = a.drive()
		n = len(into) - len(q.into)
		q.into = nil
	}
	if q.count > 0 {
		n += q.pop(into[n:])
	}
	a.unlock()
	return n, steps
}

// Len returns the number of entries that are queued.
func (q *CompletionQueue) Len() int {
	q.adapter.mu.Lock()
	defer q.adapter.unlock()
	return q.count
}

// Err returns nil while the queue is alive, and otherwise the reason for which the queue is dead:
// ErrOverflow, ErrClosed, or the error of the adapter. Entries that were queued before the queue
// died can still be polled.
func (q *CompletionQueue) Err() error {
	if !q.dead.Load() {
		return nil
	}
	return q.reason()
}

// reason returns the failure of a dead queue.
func (q *CompletionQueue) reason() error {
	q.adapter.mu.Lock()
	defer q.adapter.unlock()
	return q.failure
}

// Free ends the queue. It fails with ErrInvalidState while an endpoint, a listener, a shared receive
// queue or the adapter (Watch) feeds the queue.
func (q *CompletionQueue) Free() error {
	const op = "free completion queue"
	if q == nil {
		return &OpError{Op: op, Fault: ErrInvalidHandle}
	}
	a := q.adapter
	a.mu.Lock()
	defer a.unlock()
	switch {
	case q.freed || a.closed:
		return a.err(op, ErrInvalidHandle)
	case q.feeds.any():
		return a.err(op, ErrInvalidState)
	}
	q.freed = true
	q.close(ErrClosed)
	if q.ring == nil { // otherwise wake calls ring and then deletes the queue
		delete(a.queues, q)
	}
	return nil
}

// valid reports whether objects of an adapter may feed the queue.
func (q *CompletionQueue) valid(a *Adapter) bool { return q.adapter == a && !q.freed }

// push writes an entry to into, or appends it to the ring if into has no room. An entry in the ring
// wakes waiters if notify is true. If the queue is full or dead, the entry is lost, and its endpoint
// ends.
func (q *CompletionQueue) push(c *Completion, notify bool) {
	if len(q.into) > 0 && q.failure == nil {
		q.into[0] = *c
		q.into = q.into[1:]
		return
	}
	if q.count == len(q.entries) || q.failure != nil {
		q.close(ErrOverflow)
		if c.Endpoint != nil {
			c.Endpoint.later(deferLost)
		}
		return
	}
	i := q.head + q.count
	if i >= len(q.entries) {
		i -= len(q.entries)
	}
	e := &q.entries[i]
	*e = *c
	e.notify = notify
	q.count++
	if notify {
		q.notifying++
	}
	if q.waiters > 0 || q.ring != nil {
		q.adapter.waiting.dirty = true
	}
}

// room returns the number of entries that can still be pushed.
func (q *CompletionQueue) room() int { return len(q.entries) - q.count }

// pop moves entries out of the queue into a slice and returns their number.
func (q *CompletionQueue) pop(into []Completion) int {
	n := min(len(into), q.count)
	for i := range into[:n] {
		e := &q.entries[q.head]
		into[i] = *e
		if e.notify {
			q.notifying--
		}
		e.Event, e.Endpoint = nil, nil // the garbage collector can then free these objects
		if q.head++; q.head == len(q.entries) {
			q.head = 0
		}
	}
	if q.count -= n; q.count == 0 {
		q.head = 0 // the next entries reuse the slots that are in the processor's cache
	}
	return n
}

// close makes the queue dead for the given reason. It does nothing if the queue is already dead.
func (q *CompletionQueue) close(why error) {
	if q.failure == nil {
		q.failure = why
		q.dead.Store(true)
		q.adapter.waiting.dirty = true
	}
}
