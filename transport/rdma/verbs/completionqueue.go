package verbs

import "sync/atomic"

// CompletionQueue is an event dispatcher (DAT_EVD): completions of receives and of
// requests, connection events, and the requests that reach listeners, in one order.
// Which streams feed it is said where endpoints and listeners are made.
type CompletionQueue struct {
	adapter *Adapter
	// entries is a ring; count of them are in use from head on, notifying of those
	// wake waiters.
	entries          []Completion
	head             int
	count, notifying int
	// into is what is left of the memory of an Advance that makes progress, which it does
	// when the queue is empty: entries go there first, not through the ring.
	into  []Completion
	feeds feeds
	// waiters counts goroutines in Wait; ring is what Arm was given.
	waiters int
	ring    func()
	failure error
	// dead says that failure is set: a consumer checks it after every poll, without the
	// lock.
	dead  atomic.Bool
	freed bool
}

// NewCompletionQueue makes a completion queue of the given capacity. The consumer must
// ensure that no more entries than that can be outstanding: the limits of its endpoints,
// and three connection events for each. An entry for which there is no room is lost; the
// queue is then dead (Err is ErrOverflow) and so is the endpoint that made the entry.
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

// Capacity returns the number of entries the queue holds.
func (q *CompletionQueue) Capacity() int { return len(q.entries) }

// Poll moves queued entries into the slice and returns how many. When none is queued
// it first makes progress on the adapter, on the caller's goroutine. It does not
// allocate for completions of work.
func (q *CompletionQueue) Poll(into []Completion) int {
	n, _ := q.Advance(into)
	return n
}

// Advance is Poll that also returns how much progress the adapter made: nothing is
// queued yet for a part of a long message. A consumer that polls something else
// besides learns from it how soon to come back.
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

// Err returns nil, or why the queue is dead: ErrOverflow, ErrClosed, or the error of
// the adapter. What was queued before can still be polled.
func (q *CompletionQueue) Err() error {
	if !q.dead.Load() {
		return nil
	}
	return q.reason()
}

// reason is Err of a dead queue.
func (q *CompletionQueue) reason() error {
	q.adapter.mu.Lock()
	defer q.adapter.unlock()
	return q.failure
}

// Free ends the queue. It is ErrInvalidState while endpoints, listeners or shared
// receive queues feed it.
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

// valid reports whether the queue can be fed by something of an adapter.
func (q *CompletionQueue) valid(a *Adapter) bool { return q.adapter == a && !q.freed }

// push appends an entry; notify says that it wakes waiters.
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

// room returns how many more entries fit.
func (q *CompletionQueue) room() int { return len(q.entries) - q.count }

// pop moves entries out.
func (q *CompletionQueue) pop(into []Completion) int {
	n := min(len(into), q.count)
	for i := range into[:n] {
		e := &q.entries[q.head]
		into[i] = *e
		if e.notify {
			q.notifying--
		}
		e.Event, e.Endpoint = nil, nil // let the collector have them
		if q.head++; q.head == len(q.entries) {
			q.head = 0
		}
	}
	if q.count -= n; q.count == 0 {
		q.head = 0 // the next entries come where the last ones left the cache warm
	}
	return n
}

// close makes the queue dead, for the first reason given.
func (q *CompletionQueue) close(why error) {
	if q.failure == nil {
		q.failure = why
		q.dead.Store(true)
		q.adapter.waiting.dirty = true
	}
}
