package engine

import (
	"context"
	"errors"
)

// Handle identifies a nonblocking operation. It is a value, so that starting an operation
// allocates nothing; copies identify the same operation. The zero Handle is a finished
// operation without result.
//
// The result of an operation can be taken once. After that, the record of the operation can be
// reused for another operation, with another generation. Wait and Test of
// a handle of the old generation then return ErrTaken.
type Handle struct {
	request    *Request
	generation uint32
	// Unit belongs to the caller; the engine does not read it.
	Unit int32
}

// ErrTaken is the error of taking the result of an operation a second time.
var ErrTaken = errors.New("the result was taken before")

// handle returns the handle of r. The caller holds Engine.mu.
func (r *Request) handle() Handle { return Handle{request: r, generation: r.generation} }

// pending returns the operation of h, or nil if its result was taken or h is zero.
// The caller holds Engine.mu.
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

// Wait waits until the operation has ended and takes its result. If ctx ends first, Wait cancels the
// operation, which has an effect only before the match. When Wait returns, neither the engine
// nor a peer accesses the caller's slice any more. ctx may be nil.
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

// Test polls at most once and reports whether the operation is finished. If it is, Test takes
// the result.
func (h Handle) Test() (Status, bool, error) {
	if h.request == nil {
		return Status{}, true, nil
	}
	s, idle, err := h.test()
	h.request.e.rest(idle)
	return s, idle == 0, err
}

// test is Test under the lock. If the operation is not finished, idle is the number of consecutive
// nonblocking calls without result (see Engine.nothing), otherwise 0. The caller passes idle to Engine.rest.
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

// look polls once if r is not finished. Its result idle has the same meaning as that of test.
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

// Look is like Test, but does not take the result.
func (h Handle) Look() bool {
	if h.request == nil {
		return true
	}
	idle := h.glance()
	h.request.e.rest(idle)
	return idle == 0
}

// glance is Look under the lock. Its result idle has the same meaning as that of test.
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

// Cancel cancels the operation if it is not matched yet. The caller still has to call Wait. Wait
// returns a *CancelError if the operation was cancelled before the match. Otherwise Wait returns the
// operation's result.
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
