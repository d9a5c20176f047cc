package engine

import (
	"context"
	"errors"
	goruntime "runtime"
)

// ErrInline refuses a call that would wait on the goroutine that serves parcels:
// what it waits for would wait for it.
var ErrInline = errors.New("a handler that runs inline cannot wait")

// Goroutine names the calling goroutine while it lives. Names are used again.
func Goroutine() uintptr { return goroutine() }

// Serve makes the calling goroutine the one that serves parcels: it polls, and
// gives way, as any goroutine that waits, until ready returns true; then it calls
// work without the engine's lock, and so on until the engine ends, whose error it
// returns. ready is called with the lock held, often, and must not call the
// engine. Waiting within work fails with ErrInline.
//
// work returns whether it made other goroutines runnable: they run at once, even
// where the rank has one processor.
func (e *Engine) Serve(ready, work func() bool) error {
	e.lock()
	e.mail.serving = goroutine()
	w := e.newWaiter()
	w.done, w.serves, w.what = ready, true, "serve actors"
	e.mail.server = w
	var err error
	for err == nil {
		if e.err == nil && !ready() {
			e.pollOnce()
		}
		if ready() {
			e.unlock()
			if work() {
				goruntime.Gosched()
			}
			e.lock()
			e.woke = true // who knows what a handler woke
			continue
		}
		w.fired = false
		err = e.wait(context.Background(), w)
	}
	e.mail.serving, e.mail.server = 0, nil
	e.freeWaiter(w)
	e.unlock()
	return err
}

// Rouse makes Serve look at ready again, wherever it waits.
func (e *Engine) Rouse() { e.sleeper.Ring() }

// inline reports whether a wait is one of a handler that Serve called. The end of
// a canceled operation may be waited for.
func (e *Engine) inline(w *waiter) bool {
	return !w.serves && (w.req == nil || !w.req.canceled) && e.mail.serving == goroutine()
}
