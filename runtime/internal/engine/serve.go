package engine

import (
	"context"
	"errors"
	goruntime "runtime"
)

// ErrInline refuses a call that would wait on the goroutine that serves actor messages:
// what it waits for would wait for it.
var ErrInline = errors.New("an inline handler must not wait")

// Goroutine names the calling goroutine while it lives. Names are used again.
func Goroutine() uintptr { return goroutine() }

// Next is what the goroutine of Serve does after work.
type Next uint8

// What it may do.
const (
	// Stay goes on.
	Stay Next = iota
	// Yield goes on after others, which work made runnable: they run at once, even
	// where the rank has one processor.
	Yield
	// Leave ends Serve.
	Leave
)

// Serve makes the calling goroutine the one that serves actor messages: it polls, and
// gives way, as any goroutine that waits, until ready returns true; then it calls
// work without the engine's lock, and so on until the engine ends, whose error it
// returns. ready is called with the lock held, often, and must not call the
// engine. Waiting within work fails with ErrInline.
//
// After work the goroutine goes on as it says. When it leaves, Serve returns nil and
// another goroutine calls it soon, which goes on where this one was.
//
// The serving goroutine keeps the poll token, also during work: who polls when a
// actor message comes hands the token to it, and while more come nobody else is woken. A
// wait that begins takes the token away; what goroutines that wait already have
// to hear of, it tells them, and the background sees to it when work takes long.
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
				// The token stays, and is given on if nobody comes for it.
				e.mail.serving = 0
				e.within--
				return nil
			}
			e.token.Worked()
			continue
		}
		w.fired = false
		if err = e.wait(context.Background(), w); err != nil && ready() {
			err = nil // what came with the end is served first; the next wait fails again
		}
	}
	e.mail.serving, e.mail.server = 0, nil
	e.obey(e.token.StopServing())
	e.freeWaiter(w)
	e.within--
	return err
}

// work calls work of Serve, and lets others in meanwhile.
func (e *Engine) work(work func() Next) Next {
	defer e.stepIn(e.stepOut())
	next := work()
	if next == Yield {
		goruntime.Gosched()
	}
	return next
}

// callServer tells the goroutine of Serve that something has come for it.
func (e *Engine) callServer() { e.obey(e.token.Call()) }

// Rouse makes Serve look at ready again, wherever it waits.
func (e *Engine) Rouse() { e.sleeper.Ring() }

// Inline returns the error of a call that would wait for something else than the
// engine, if it is made in a handler that Serve called, else nil.
func (e *Engine) Inline(op string) error {
	e.lock()
	defer e.unlock()
	if e.mail.serving == 0 || e.mail.serving != goroutine() {
		return nil
	}
	return &CancelError{Op: op, Cause: ErrInline}
}

// inline reports whether a wait is one of a handler that Serve called. The end of
// a canceled operation may be waited for.
func (e *Engine) inline(w *waiter) bool {
	return w != e.mail.server && (w.req == nil || !w.req.canceled) && e.mail.serving == goroutine()
}
