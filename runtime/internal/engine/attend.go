package engine

import (
	"sync"
	"time"
)

// Attend waits without polling until the channel in its argument is closed. Another goroutine polls for the messages
// of the operation and finishes it. If both goroutines polled, every message would cost two switches between them.
// Blocked lists the wait as a wait for the operation of h.
func (h Handle) Attend(ended <-chan struct{}) {
	if h.request == nil || closed(ended) {
		return
	}
	e, since := h.request.e, time.Now()
	r := e.attendance.enter()
	select {
	case <-ended:
		e.attendance.leave(r)
	case <-r.call:
		e.attend(h, ended, r, since)
	}
}

// attend adds a wait of Attend to Engine.blocked, and waits until the channel in the argument ended is closed. since
// is the time at which the wait began.
func (e *Engine) attend(h Handle, ended <-chan struct{}, from *roll, since time.Time) {
	e.lock()
	defer e.unlock()
	r := h.pending()
	if r == nil {
		e.attendance.leave(from)
		return
	}
	w := e.newWaiter()
	w.req, w.done, w.since = r, func() bool { return closed(ended) }, since
	e.blocked.push(w)
	e.noteWait(w)
	e.locate(w)
	e.attendance.leave(from)
	func() {
		defer e.stepIn(e.stepOut())
		<-ended
	}()
	e.blocked.remove(w)
	e.noteResume(w)
	e.freeWaiter(w)
}

// closed reports whether a channel on which nothing is sent is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// attendance has the waits of Attend that are not in Engine.blocked. To list a wait in Engine.blocked takes
// longer than a short operation. Therefore a goroutine lists its wait only when callAll asks for it.
type attendance struct {
	lock sync.Mutex // guards open, and the fields waits and called of each roll; no other lock is taken under it
	open *roll      // the roll of the waits that begin now; nil if none has begun since the last callAll
}

// roll has the waits that one call of callAll causes to be listed.
type roll struct {
	call   chan struct{} // closed when the goroutines have to list their waits
	called bool
	waits  int           // waits that are neither listed nor over
	empty  chan struct{} // closed when waits is 0 after the call
}

// enter adds a wait.
func (a *attendance) enter() *roll {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.open == nil {
		a.open = &roll{call: make(chan struct{}), empty: make(chan struct{})}
	}
	a.open.waits++
	return a.open
}

// leave removes a wait that is listed or over.
func (a *attendance) leave(r *roll) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if r.waits--; r.called && r.waits == 0 {
		close(r.empty)
	}
}

// callTime bounds the time that callAll waits for goroutines. They do not run if all processors are busy.
const callTime = 100 * time.Millisecond

// callAll makes all goroutines list their waits. It returns when they have done so, or after callTime.
func (a *attendance) callAll() {
	a.lock.Lock()
	r := a.open
	if r == nil || r.waits == 0 {
		a.lock.Unlock()
		return
	}
	a.open, r.called = nil, true
	close(r.call)
	a.lock.Unlock()
	timer := time.NewTimer(callTime)
	defer timer.Stop()
	select {
	case <-r.empty:
	case <-timer.C:
	}
}
