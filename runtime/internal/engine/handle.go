package engine

import (
	"context"
	"errors"
)

// Handle identifies a nonblocking operation. It is a value, so that starting an operation
// allocates nothing; copies identify the same operation. The zero Handle is a finished
// operation without result.
//
// The result of an operation is taken once. Its record then serves another one,
// with another generation, and handles of the old generation say ErrTaken.
type Handle struct {
	request    *Request
	generation uint32
	// Unit belongs to the caller; the engine does not read it.
	Unit int32
}

// ErrTaken says that the result of an operation has already been taken.
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

// Zero reports whether h is the zero Handle.
func (h Handle) Zero() bool { return h.request == nil }

// Taken reports whether there is no result left to take.
func (h Handle) Taken() bool {
	if h.request == nil {
		return true
	}
	e := h.request.e
	e.lock()
	defer e.unlock()
	return h.pending() == nil
}

// Wait waits for the end and takes the result. If ctx ends first, the operation is cancelled,
// which has an effect only before the match. When Wait returns, neither the engine nor a peer
// accesses the slice any more. ctx may be nil.
func (h Handle) Wait(ctx context.Context) (Status, error) {
	if h.request == nil {
		return Status{}, nil
	}
	e := h.request.e
	e.lock()
	defer e.unlock()
	r := h.pending()
	if r == nil {
		return Status{}, ErrTaken
	}
	if r.phase != phaseDone {
		e.waitRequest(ctx, r)
	}
	return e.free(r)
}

// Test polls once and reports whether the operation is finished; if so it takes
// the result.
func (h Handle) Test() (Status, bool, error) {
	if h.request == nil {
		return Status{}, true, nil
	}
	s, idle, err := h.test()
	h.request.e.rest(idle)
	return s, idle == 0, err
}

// test is Test under the lock. idle is above 0 if the operation is not finished, see rest.
func (h Handle) test() (s Status, idle uint, err error) {
	e := h.request.e
	e.lock()
	defer e.unlock()
	r := h.pending()
	if r == nil {
		return Status{}, 0, ErrTaken
	}
	if idle = e.look(r); idle > 0 {
		return Status{}, idle, nil
	}
	s, err = e.free(r)
	return s, 0, err
}

// look polls once for r, if it is not finished. idle is as for test.
func (e *Engine) look(r *Request) (idle uint) {
	if r.phase == phaseDone {
		return 0
	}
	e.pollOnce()
	if r.phase == phaseDone {
		return 0
	}
	return e.nothing()
}

// Look is Test without taking the result.
func (h Handle) Look() bool {
	if h.request == nil {
		return true
	}
	idle := h.glance()
	h.request.e.rest(idle)
	return idle == 0
}

// glance is Look under the lock. idle is as for test.
func (h Handle) glance() (idle uint) {
	e := h.request.e
	e.lock()
	defer e.unlock()
	r := h.pending()
	if r == nil {
		return 0
	}
	return e.look(r)
}

// Cancel asks for the end of an operation that is not matched yet. The caller still has to
// Wait, which returns a *CancelError if the cancellation came in time, else the result.
func (h Handle) Cancel() {
	if h.request == nil {
		return
	}
	e := h.request.e
	e.lock()
	defer e.unlock()
	if r := h.pending(); r != nil {
		e.cancel(r, nil)
	}
}
