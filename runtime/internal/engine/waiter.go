package engine

import (
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
)

// waiter is a waiting goroutine and what it waits for: a request, a word of shared memory
// (done), an unexpected message (from) or the credit of a stream.
type waiter struct {
	req   *Request
	done  func() bool
	err   error           // the wait has failed
	fired bool            // the wait has succeeded
	era   uint32          // number of the wait, so that a late context does not end the next one
	place progress.Waiter // at the poll token

	// limited says that a context that is not inner may end the wait, several that any one of several operations
	// does.
	limited, several bool

	// noted says that the begin of a probe is recorded, with the number record.
	noted  bool
	record uint64

	what   string
	from   key
	stream *Stream
	pc     uintptr

	since time.Time     // when the first polls had found nothing
	ch    chan struct{} // ends a park

	stack *[stackDepth]uintptr // of its goroutine; depth frames are used
	depth int

	next, prev *waiter // in Engine.blocked; next also in the free list
}

// waiterList is a list of waiters in order of arrival.
type waiterList struct{ head, tail *waiter }

// push appends w.
func (l *waiterList) push(w *waiter) {
	w.next, w.prev = nil, l.tail
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
}

// remove takes w out; it must be in.
func (l *waiterList) remove(w *waiter) {
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
}

// over reports whether the wait has ended.
func (w *waiter) over() bool {
	return w.fired || w.err != nil || w.done != nil && w.done()
}

// op is the text of the operation.
func (w *waiter) op() string {
	if w.req != nil {
		return opNames[w.req.op]
	}
	return w.what
}

// newWaiter takes a record from the free list.
func (e *Engine) newWaiter() *waiter {
	w := e.waiters
	if w == nil {
		return new(waiter)
	}
	e.waiters, w.next = w.next, nil
	return w
}

// freeWaiter gives a record back.
func (e *Engine) freeWaiter(w *waiter) {
	*w = waiter{ch: w.ch, stack: w.stack, era: w.era + 1, next: e.waiters}
	e.waiters = w
}

// fire ends a wait with success.
func (e *Engine) fire(w *waiter) {
	w.fired = true
	if !w.place.Awake() {
		e.rouse(w)
	}
}

// rouse makes a waiter check whether its wait is over.
func (e *Engine) rouse(w *waiter) { e.obey(e.token.Rouse(&w.place)) }
