package engine

import (
	"context"
	"errors"
)

// Handle names a nonblocking operation. It is a value, so that starting an
// operation allocates nothing; copies name the same operation. The zero Handle is
// an operation that is finished and has no result.
//
// The result of an operation is taken once. Its record then serves another one,
// with another generation, and handles of the old generation say ErrTaken.
type Handle struct {
	request    *Request
	generation uint32
	// Unit is the caller's; the engine does not read it.
	Unit int32
}

// ErrTaken says that the result of an operation was taken before.
var ErrTaken = errors.New("the result was taken before")

// handle returns the handle of r. mu is held.
func (r *Request) handle() Handle { return Handle{request: r, generation: r.generation} }

// pending returns the operation of h, nil if its result was taken or h is zero.
// mu is held.
func (h Handle) pending() *Request {
	if h.request == nil || h.request.generation != h.generation {
		return nil
	}
	return h.request
}

// Zero reports whether h names no operation.
func (h Handle) Zero() bool { return h.request == nil }

// Taken reports whether there is no result to take any more.
func (h Handle) Taken() bool {
	if h.request == nil {
		return true
	}
	e := h.request.e
	e.lock()
	taken := h.pending() == nil
	e.unlock()
	return taken
}

// Wait waits for the end and takes the result. When ctx ends first the operation
// is cancelled, which takes effect only if it was not matched yet; Wait returns
// when nobody touches the slice any more. ctx may be nil.
func (h Handle) Wait(ctx context.Context) (Status, error) {
	if h.request == nil {
		return Status{}, nil
	}
	e := h.request.e
	e.lock()
	r := h.pending()
	if r == nil {
		e.unlock()
		return Status{}, ErrTaken
	}
	if r.phase != phaseDone {
		e.waitRequest(ctx, r)
	}
	s, err := e.free(r)
	e.unlock()
	return s, err
}

// Test polls once and reports whether the operation is finished; if so it takes
// the result.
func (h Handle) Test() (Status, bool, error) {
	if h.request == nil {
		return Status{}, true, nil
	}
	e := h.request.e
	e.lock()
	r := h.pending()
	if r == nil {
		e.unlock()
		return Status{}, true, ErrTaken
	}
	if r.phase != phaseDone {
		e.pollOnce()
	}
	if r.phase != phaseDone {
		e.unlockIdle()
		return Status{}, false, nil
	}
	s, err := e.free(r)
	e.unlock()
	return s, true, err
}

// Look is Test that leaves the result.
func (h Handle) Look() bool {
	if h.request == nil {
		return true
	}
	e := h.request.e
	e.lock()
	r := h.pending()
	if r != nil && r.phase != phaseDone {
		e.pollOnce()
	}
	if r != nil && r.phase != phaseDone {
		e.unlockIdle()
		return false
	}
	e.unlock()
	return true
}

// Done reports whether the operation is finished, and leaves the result. It does
// not poll.
func (h Handle) Done() bool {
	if h.request == nil {
		return true
	}
	e := h.request.e
	e.lock()
	defer e.unlock()
	r := h.pending()
	return r == nil || r.phase == phaseDone
}

// Cancel asks for the end of an operation that is not matched yet. Wait is still
// due: it returns a *CancelError if that came in time, else the result.
func (h Handle) Cancel() {
	if h.request == nil {
		return
	}
	e := h.request.e
	e.lock()
	if r := h.pending(); r != nil {
		e.cancel(r, nil)
	}
	e.unlock()
}
