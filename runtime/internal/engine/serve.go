package engine

import (
	"context"
	"errors"
	goruntime "runtime"
)

// ErrInline refuses a call that would wait on the goroutine that serves actor messages. That
// wait would be a deadlock, because the same goroutine delivers what it waits for.
var ErrInline = errors.New("an inline handler must not wait")

// Goroutine identifies the calling goroutine while it exists. Identifiers are reused.
func Goroutine() uintptr { return goroutine() }

// Next is what the goroutine in Serve does after work.
type Next uint8

// The values of Next.
const (
	// Stay continues.
	Stay Next = iota
	// Yield lets the goroutines run that work made runnable, and continues. They run at once,
	// even if the rank has one processor.
	Yield
	// Leave ends Serve.
	Leave
)

// Serve makes the calling goroutine the one that serves actor messages. It polls, yields and
// sleeps, as any waiting goroutine does, until ready returns true. Then it calls work without
// the engine's lock. It repeats this until the engine ends, and returns the engine's error.
// ready is called often, with the lock held, and must not call the engine. A wait within work
// fails with ErrInline.
//
// The result of work says how the goroutine continues. After Leave, Serve returns nil, and
// another goroutine has to call it soon, which continues in the same state.
//
// The serving goroutine keeps the poll token, also during work. A goroutine that polls an
// actor message passes the token to it, and further messages wake no other goroutine. A wait
// that begins takes the token. The serving goroutine ends the waits of parked goroutines whose
// words of memory have changed; while work takes long, the background passes the token on.
func (e *Engine) Serve(ready func() bool, work func() Next) error {
	e.lock()
	defer e.unlock()
	e.within++
	e.mail.serving = goroutine()
	w := e.mail.server
	if w == nil {
		w = e.newWaiter()
		w.what = "serve actors"
		e.mail.server = w
	}
	e.token.Serve(&w.place)
	w.done = ready
	var err error
	for err == nil {
		if e.err == nil && !ready() {
			e.pollOnce()
		}
		if ready() {
			e.ask() // before the work, which may take long
			e.token.Work()
			if e.work(work) == Leave {
				// The next call of Serve gets the token. If there is none soon, the
				// background passes it on.
				e.mail.serving = 0
				e.within--
				return nil
			}
			e.token.Worked()
			continue
		}
		w.fired = false
		if err = e.wait(context.Background(), w); err != nil && ready() {
			err = nil // serve what arrived before the end; the next wait fails again
		}
	}
	e.mail.serving, e.mail.server = 0, nil
	e.obey(e.token.StopServing())
	e.freeWaiter(w)
	e.within--
	return err
}

// work calls work of Serve without the lock.
func (e *Engine) work(work func() Next) Next {
	defer e.stepIn(e.stepOut())
	next := work()
	if next == Yield {
		goruntime.Gosched()
	}
	return next
}

// callServer tells the goroutine in Serve that a message for it has arrived.
func (e *Engine) callServer() { e.obey(e.token.Call()) }

// Rouse makes Serve call ready again, wherever it waits.
func (e *Engine) Rouse() { e.sleeper.Ring() }

// Inline returns ErrInline in an error of op if it is called in a handler that Serve runs,
// else nil. Calls that wait for anything but the engine use it.
func (e *Engine) Inline(op string) error {
	e.lock()
	defer e.unlock()
	if e.mail.serving == 0 || e.mail.serving != goroutine() {
		return nil
	}
	return &CancelError{Op: op, Cause: ErrInline}
}

// inline reports whether a handler that Serve runs begins the wait w. A handler may wait for
// the end of a canceled operation.
func (e *Engine) inline(w *waiter) bool {
	return w != e.mail.server && (w.req == nil || !w.req.canceled) && e.mail.serving == goroutine()
}
