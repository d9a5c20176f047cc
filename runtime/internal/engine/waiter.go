package engine

import (
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
)

// waiter is the record of a waiting goroutine. The goroutine waits for a request (req), a word of
// shared memory (done), an unexpected message (from) or the credit of a stream (stream).
type waiter struct {
	req   *Request
	done  func() bool
	err   error           // if not nil, the wait has failed with this error
	fired bool            // the wait has succeeded
	era   uint32          // number of the wait, so that the context of one wait cannot end a later one
	place progress.Waiter // the goroutine's record at the poll token

	// limited is true if a context.Context that is not inner (isInner) may end the wait. several is
	// true if the wait ends with any one of several operations (WaitAny).
	limited, several bool

	// noted is true if the recorder has the beginning of the probe that waits. record is then the
	// number of the probe at the recorder.
	noted  bool
	record uint64

	what   string
	from   key
	stream *Stream

	since time.Time     // when the first polls had ended without result; for Attend, the start of the wait
	ch    chan struct{} // a value wakes the goroutine from a park

	stack *[stackDepth]uintptr // call stack of the goroutine, in its first depth elements
	depth int

	next, prev *waiter // links of Engine.blocked; next also links the free list
}

// waiterList is a list of waiters in the order of push.
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

// remove removes w, which must be in the list.
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

// over reports whether the wait has succeeded or failed.
func (w *waiter) over() bool {
	return w.fired || w.err != nil || w.done != nil && w.done()
}

// op returns the name of the operation that waits.
func (w *waiter) op() string {
	if w.req != nil {
		return opNames[w.req.op]
	}
	return w.what
}

// newWaiter returns a waiter. Its record comes from the free list, if the list is not empty.
func (e *Engine) newWaiter() *waiter {
	w := e.waiters
	if w == nil {
		return new(waiter)
	}
	e.waiters, w.next = w.next, nil
	return w
}

// freeWaiter returns a record to the free list.
func (e *Engine) freeWaiter(w *waiter) {
	*w = waiter{ch: w.ch, stack: w.stack, era: w.era + 1, next: e.waiters}
	e.waiters = w
}

// fire ends the wait of w with success, and wakes its goroutine if the goroutine sleeps or is parked.
func (e *Engine) fire(w *waiter) {
	w.fired = true
	if !w.place.Awake() {
		e.rouse(w)
	}
}

// rouse wakes the goroutine of w if it sleeps or is parked, so that it checks whether its wait is
// over.
func (e *Engine) rouse(w *waiter) { e.obey(e.token.Rouse(&w.place)) }
