package engine

import "context"

// WaitAny waits until one of n operations is finished, takes its result and returns its index. The
// function at returns the handle of operation i. It is called with the engine's lock held and must
// not call the engine. Zero handles, and operations whose result was taken before, are skipped. If
// all operations are skipped, the index is -1. If ctx ends first, no operation is cancelled.
func (e *Engine) WaitAny(ctx context.Context, n int, at func(i int) Handle) (int, Status, error) {
	e.lock()
	defer e.unlock()
	w := e.newWaiter()
	for {
		some := false
		for i := range n {
			r := at(i).pending()
			if r == nil {
				continue
			}
			if r.phase == phaseDone {
				e.leave(w, n, at)
				s, err := e.free(r)
				return i, s, err
			}
			w.several, some = some, true
			r.waiter, w.req = w, r
		}
		if !some {
			e.leave(w, n, at)
			return -1, Status{}, nil
		}
		if err := e.wait(ctx, w); err != nil {
			e.leave(w, n, at)
			return -1, Status{}, err
		}
		w.fired = false
	}
}

// leave removes a waiter from the operations of a WaitAny, and frees the waiter.
func (e *Engine) leave(w *waiter, n int, at func(i int) Handle) {
	for i := range n {
		if r := at(i).pending(); r != nil && r.waiter == w {
			r.waiter = nil
		}
	}
	e.freeWaiter(w)
}

// WaitAll waits until all operations are finished and takes their results. It returns nil if no
// operation failed. Otherwise it returns the errors of the operations, by index. Zero handles, and
// operations whose result was taken before, are skipped. WaitAll takes the engine's lock once for all
// operations. If ctx ends first, it cancels the operations that are not matched.
func (e *Engine) WaitAll(ctx context.Context, hs []Handle) []error {
	e.lock()
	defer e.unlock()
	// Usually, the operation that was started last also ends last. If WaitAll waits for that
	// operation first, one wait suffices.
	for i := len(hs) - 1; i >= 0; i-- {
		if r := hs[i].pending(); r != nil && r.phase != phaseDone {
			e.waitRequest(ctx, r)
		}
	}
	var errs []error
	for i, h := range hs {
		r := h.pending()
		if r == nil {
			continue
		}
		if _, err := e.free(r); err != nil {
			if errs == nil {
				errs = make([]error, len(hs))
			}
			errs[i] = err
		}
	}
	return errs
}
