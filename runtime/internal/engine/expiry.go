package engine

import "context"

// expiry ends a wait with an error when a context.Context ends. While the goroutine polls, it looks at the
// context itself, because a registered function costs several allocations, which take longer than a
// short wait. Before the goroutine sleeps or is parked, it registers a function that wakes it.
type expiry struct {
	ctx  context.Context // nil if no context can end the wait, or if stop is set
	stop func() bool     // ends the registration; nil before it
}

// look ends the wait of w if the context has ended.
func (x *expiry) look(w *waiter) {
	if x.ctx != nil && x.ctx.Err() != nil {
		w.expire(x.ctx)
	}
}

// register makes the end of the context wake the goroutine of w.
func (x *expiry) register(e *Engine, w *waiter) {
	if x.ctx == nil || x.ctx.Done() == nil {
		return
	}
	ctx, era := x.ctx, w.era
	x.stop = context.AfterFunc(ctx, func() { e.expire(ctx, w, era) })
	x.ctx = nil
}

// end ends the registration.
func (x *expiry) end() {
	if x.stop != nil {
		x.stop()
	}
}

// expire ends the wait number era of w, because ctx is done, and wakes the goroutine of w. It does nothing if
// that wait is over.
func (e *Engine) expire(ctx context.Context, w *waiter, era uint32) {
	e.lock()
	defer e.unlock()
	if w.era == era && w.expire(ctx) {
		e.rouse(w)
	}
}

// expire ends the wait of w because ctx is done. It returns false if the wait is over.
func (w *waiter) expire(ctx context.Context) bool {
	if w.fired || w.err != nil {
		return false
	}
	w.err = &CancelError{Op: w.op(), Cause: context.Cause(ctx)}
	return true
}

// InnerContext is a context.Context with a method Inner. Inner reports whether only a call in this
// program can end the context. If Inner returns true, no deadline or event from outside the program
// can end it.
type InnerContext interface {
	context.Context
	Inner() bool
}

// isInner reports whether ctx is an InnerContext whose Inner returns true.
func isInner(ctx context.Context) bool {
	c, ok := ctx.(InnerContext)
	return ok && c.Inner()
}
