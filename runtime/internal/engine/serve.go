package engine

import (
	"context"
	"errors"
	goruntime "runtime"
)

// ErrInline is the error of a call that would wait on the serving goroutine. The wait could be a
// deadlock, because the same goroutine delivers the messages that the call waits for.
var ErrInline = errors.New("an inline handler must not wait")

// Goroutine returns a number that identifies the calling goroutine while it exists. A later
// goroutine may have the same number.
func Goroutine() uintptr { return goroutine() }

// Next is the result of the function work of Serve: what the serving goroutine does next.
type Next uint8

// The values of Next.
const (
	// Stay makes Serve continue.
	Stay Next = iota
	// Yield makes Serve yield the processor and then continue. The goroutines that the function work
	// made runnable then run at once, even if the rank has only one processor.
	Yield
	// Leave makes Serve return.
	Leave
)

// Serve makes the calling goroutine the serving goroutine, which delivers actor messages. Serve
// polls, yields and sleeps, as any waiting goroutine does, until ready returns true. Then it calls
// work without the engine's lock. Serve repeats the wait and the call until the engine ends. Then it
// calls work as long as arrived returns true, and returns the engine's error. arrived reports whether
// messages that arrived before the end are not delivered yet. ready and arrived are called often, with
// the lock held, and must not call the engine. A call of the engine from within work fails with
// ErrInline if it would have to wait.
//
// The result of work determines how Serve continues. After Leave, Serve returns nil. Another
// goroutine then has to call Serve soon; that goroutine takes over the state of this one, including
// the poll token.
//
// The serving goroutine keeps the poll token, also during work. Another goroutine whose poll finds
// an actor message passes the token to the serving goroutine, so that further actor messages wake
// no other goroutine. Another goroutine that begins to wait takes the token. Before each call of
// work, Serve ends the waits of goroutines whose words of memory have changed (Await). If work
// takes long, the background goroutine passes the token to another goroutine.
func (e *Engine) Serve(ready, arrived func() bool, work func() Next) error {
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
	worked := false
	for err == nil {
		due := ready
		switch {
		case e.err != nil:
			due = arrived
		case worked || !ready(): // after work, poll even if ready returns true: there may always be more work
			e.pollOnce()
		}
		worked = due()
		switch {
		case worked:
			e.ask() // before the work, which may take long
			e.token.Work()
			if e.work(work) == Leave {
				// The next call of Serve gets the token. If no such call comes soon, the
				// background goroutine passes the token on.
				e.mail.serving = 0
				e.within--
				return nil
			}
			e.token.Worked()
		case e.err != nil:
			err = e.err
		default:
			w.fired = false
			// After an error the next iteration delivers what arrived before the engine ended.
			_ = e.wait(context.Background(), w)
		}
	}
	e.mail.serving, e.mail.server = 0, nil
	e.obey(e.token.StopServing())
	e.freeWaiter(w)
	e.within--
	return err
}

// work calls the function work of Serve without the lock, and yields if the function returns Yield.
func (e *Engine) work(work func() Next) Next {
	defer e.stepIn(e.stepOut())
	next := work()
	if next == Yield {
		goruntime.Gosched()
	}
	return next
}

// callServer tells the serving goroutine that an actor message, a grant of credit or another event of
// actors has arrived.
func (e *Engine) callServer() { e.obey(e.token.Call()) }

// Rouse causes the function ready of Serve to be called again soon. It rings the Sleeper, so that
// the poller does not continue to sleep. The poller may be another goroutine than the serving one.
func (e *Engine) Rouse() { e.sleeper.Ring() }

// Inline returns a *CancelError of operation op with the cause ErrInline if the serving goroutine
// calls Inline from within the function work. Otherwise it returns nil. Inline is for calls that
// wait for something other than the engine.
func (e *Engine) Inline(op string) error {
	e.lock()
	defer e.unlock()
	if e.mail.serving == 0 || e.mail.serving != goroutine() {
		return nil
	}
	return &CancelError{Op: op, Cause: ErrInline}
}

// inline reports whether the serving goroutine begins the wait w from within the function work. The
// engine refuses such a wait. As an exception, the goroutine may wait for the end of a cancelled
// operation; inline then returns false.
func (e *Engine) inline(w *waiter) bool {
	return w != e.mail.server && (w.req == nil || !w.req.canceled) && e.mail.serving == goroutine()
}
