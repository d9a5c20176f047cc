package engine

import "time"

// waiter is a goroutine that waits, and what it waits for: a request, a word of
// shared memory (done) or an unexpected message (from).
type waiter struct {
	req  *Request
	done func() bool
	what string
	from key
	pc   uintptr

	fired  bool  // what it waits for is there
	serves bool  // it is Serve's own
	err    error // or will not come
	parked bool  // waits for ch
	asleep bool  // is in Sleeper.Sleep
	slept  bool  // has slept and found nothing since
	ch     chan struct{}
	era    uint32    // changes with every wait: a late context does not end the next
	since  time.Time // when it began to give way

	stack *[stackDepth]uintptr // of its goroutine, depth frames of it
	depth int

	lists [listsTotal]links
	free  *waiter
}

// The lists that a waiter can be in.
const (
	listAsleep = iota
	listParked
	listBlocked
	listsTotal
)

// links place a waiter in one list.
type links struct{ next, prev *waiter }

// waiterList is a list of waiters in order of arrival.
type waiterList struct {
	which      int
	head, tail *waiter
}

// push appends w.
func (l *waiterList) push(w *waiter) {
	w.lists[l.which] = links{prev: l.tail}
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.lists[l.which].next = w
	}
	l.tail = w
}

// remove takes w out; it must be in.
func (l *waiterList) remove(w *waiter) {
	k := w.lists[l.which]
	if k.prev == nil {
		l.head = k.next
	} else {
		k.prev.lists[l.which].next = k.next
	}
	if k.next == nil {
		l.tail = k.prev
	} else {
		k.next.lists[l.which].prev = k.prev
	}
	w.lists[l.which] = links{}
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
	e.waiters, w.free = w.free, nil
	return w
}

// freeWaiter gives a record back.
func (e *Engine) freeWaiter(w *waiter) {
	*w = waiter{ch: w.ch, stack: w.stack, era: w.era + 1, free: e.waiters}
	e.waiters = w
}

// fire ends a wait.
func (e *Engine) fire(w *waiter) {
	w.fired = true
	if w.parked || w.asleep {
		e.rouse(w)
	}
}

// rouse makes a waiter look at its state.
func (e *Engine) rouse(w *waiter) {
	switch {
	case w.parked:
		w.parked = false
		e.parked.remove(w)
		e.woke = true
		w.ch <- struct{}{}
	case w.asleep:
		e.sleeper.Ring()
	}
}

// park waits until roused.
func (e *Engine) park(w *waiter) {
	if w.ch == nil {
		w.ch = make(chan struct{}, 1)
	}
	w.locate()
	w.parked = true
	e.parked.push(w)
	if w.done != nil {
		e.asking++
	}
	e.await(w.ch)
	if w.done != nil {
		e.asking--
	}
}

// await receives from a channel, and lets others in meanwhile.
func (e *Engine) await(ch chan struct{}) {
	defer e.stepIn(e.stepOut())
	<-ch
}

// ask rouses those whose word of shared memory has changed: the parked, and those
// asleep, for whom nobody rings after another goroutine took the token from them.
// The serving goroutine hears of its actor messages by callServer.
func (e *Engine) ask() {
	if e.asking == 0 {
		return
	}
	for w := e.parked.head; w != nil; {
		next := w.lists[listParked].next
		if w.done != nil && w.done() {
			e.fire(w)
		}
		w = next
	}
	for w := e.asleep.head; w != nil; w = w.lists[listAsleep].next {
		if w.done != nil && !w.serves && !w.fired && w.done() {
			e.fire(w)
		}
	}
}
