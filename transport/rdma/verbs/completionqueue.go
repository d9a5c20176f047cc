package verbs

import "sync/atomic"

// CompletionQueue is an event dispatcher (DAT_EVD). It holds completions of receives and of
// requests, connection events, and the requests that reach listeners, in one order. The consumer
// chooses the streams that feed it when it makes endpoints and listeners.
type CompletionQueue struct {
	adapter *Adapter
	// entries is a ring. count entries are in use, from head on; notifying of them wake waiters.
	entries          []Completion
	head             int
	count, notifying int
	// into is the unused rest of the slice of the Advance that makes progress at present. Advance
	// does so only when the queue is empty. While into has room, entries go there and not through
	// the ring.
	into  []Completion
	feeds feeds
	// waiters counts goroutines in Wait; ring is the function that Arm was given.
	waiters int
	ring    func()
	failure error
	// dead is true when failure is set. A consumer reads it after every poll, without the lock.
	dead  atomic.Bool
	freed bool
}

// NewCompletionQueue makes a completion queue of the given capacity. The consumer must ensure that
// no more entries than that can be outstanding: it adds up the limits of the endpoints that feed
// the queue, and three connection events for each. An entry for which there is no room is lost. The
// queue is then dead (Err is ErrOverflow), and so is the endpoint that made the entry.
func (a *Adapter) NewCompletionQueue(capacity int) (*CompletionQueue, error) {
	const op = "new completion queue"
	a.mu.Lock()
	defer a.unlock()
	switch {
	case a.closed:
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

// Poll moves queued entries into the slice and returns their number. When none is queued, it first
// makes progress on the adapter, on the caller's goroutine. It does not allocate for completions of
// work requests.
func (q *CompletionQueue) Poll(into []Completion) int {
	n, _ := q.Advance(into)
	return n
}

// Advance is Poll, and also returns the number of steps of progress that the adapter has made.
// Steps without an entry occur: a part of a long message completes nothing. A consumer that also
// polls something else learns from steps how soon it should call Advance again.
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

// Err returns nil, or the reason why the queue is dead: ErrOverflow, ErrClosed, or the error of the
// adapter. Entries that were queued before can still be polled.
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

// Free ends the queue. It is ErrInvalidState while endpoints, listeners or shared receive queues
// feed the queue.
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
	delete(a.queues, q)
	return nil
}

// valid reports whether objects of an adapter may feed the queue.
func (q *CompletionQueue) valid(a *Adapter) bool { return q.adapter == a && !q.freed }

// push appends an entry; if notify is true, the entry wakes waiters.
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
		e.Event, e.Endpoint = nil, nil // allow garbage collection
		if q.head++; q.head == len(q.entries) {
			q.head = 0
		}
	}
	if q.count -= n; q.count == 0 {
		q.head = 0 // the next entries reuse the slots that are in the processor's cache
	}
	return n
}

// close makes the queue dead for the given reason, unless it is dead already.
func (q *CompletionQueue) close(why error) {
	if q.failure == nil {
		q.failure = why
		q.dead.Store(true)
		q.adapter.waiting.dirty = true
	}
}
