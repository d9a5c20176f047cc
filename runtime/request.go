package runtime

import (
	"errors"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Request is an operation that was started. It is a small value that allocates
// nothing; copies are the same operation, which belongs to one goroutine at a time
// and may be dropped when its end is of no interest. The zero Request is complete.
//
// The result is taken once, by Wait, Test or a function over several requests that
// returns it. After that the operation is complete, with an empty Status and no
// error. A request that was complete when it was started, such as that of a small
// send, does not remember that; one that could not be started returns its error
// each time.
type Request struct {
	comm *Comm
	// rest is the work left at the end of the operation; mostly nil.
	rest *rest
	// operation is the engine's, zero if there is none. Its Unit is the size of an element
	// in bytes, sendUnit for a send.
	operation engine.Handle
}

// sendUnit marks operations whose Status is empty.
const sendUnit = -1

// rest is what is left to do at the end of an operation, or how one ended that was
// not started.
type rest struct {
	// task is the goroutine of a NewRequest, whose end is the message that the
	// operation receives.
	task    *task
	strides strides
	err     error
	// watched is for the check, nil without one.
	watched *watched
}

// nullRest is the rest of an operation with ProcNull, which has no peer.
var nullRest = new(rest)

// failedRequest is an operation that could not be started.
func failedRequest(err error) Request { return Request{rest: &rest{err: err}} }

// unstarted is an operation that need not or, with an error, could not be started.
func unstarted(err error) Request {
	if err != nil {
		return failedRequest(err)
	}
	return Request{rest: nullRest}
}

// watched returns r, watched by the check unless p is nil.
func (r Request) watched(p *watched) Request {
	switch {
	case p == nil:
	case r.rest == nil:
		r.rest = &rest{watched: p}
	default:
		r.rest.watched = p
	}
	return r
}

// zero reports whether r is the zero Request.
func (r Request) zero() bool { return r == Request{} }

// task returns the goroutine of a NewRequest, else nil.
func (r Request) task() *task {
	if r.rest == nil {
		return nil
	}
	return r.rest.task
}

// Wait waits for the end of the operation and takes its result. The Status of a
// send is empty. When the context of the view with which it was started ends
// first, the operation is canceled as by Cancel; Wait then returns the context's
// error, or the result if the message had been matched already.
func (r Request) Wait() (Status, error) {
	if r.operation.Zero() {
		return r.early()
	}
	ctx := r.comm.ctx
	if r.task() != nil {
		if err := r.comm.engine.Inline("wait"); err != nil && !r.operation.Look() {
			return emptyStatus, err // the request continues
		}
		ctx = nil // it has a context of its own
	}
	s, err := r.result(r.operation.Wait(ctx))
	return s, untaken(err)
}

// Test makes progress, and reports whether the operation has ended; if so it takes
// the result.
func (r Request) Test() (Status, bool, error) {
	s, ok, err := r.test()
	return s, ok, untaken(err)
}

// Done makes progress, reports whether the operation has ended and leaves the
// result.
func (r Request) Done() bool { return r.operation.Look() }

// Cancel asks to end an operation that is not matched yet; Wait then returns ErrCanceled.
// After the match it does nothing. Wait or Test is still due. The function of a NewRequest
// finds its context ended.
//
// A small standard send cannot be canceled once its message was copied into the lane,
// although no receive has matched it. It can be canceled only while it waits for the
// connection with a rank of another node or for room. The result of Wait shows this: after
// nil the message arrives, after ErrCanceled it never does.
func (r Request) Cancel() {
	if t := r.task(); t != nil {
		t.cancel()
		return
	}
	r.operation.Cancel()
}

// test is Test that returns engine.ErrTaken.
func (r Request) test() (Status, bool, error) {
	if r.operation.Zero() {
		s, err := r.early()
		return s, true, err
	}
	s, ok, err := r.operation.Test()
	if !ok {
		return Status{}, false, nil
	}
	status, err := r.result(s, err)
	return status, true, err
}

// early is the result of an operation that was complete when it was started.
func (r Request) early() (Status, error) {
	if r.rest == nil {
		return emptyStatus, nil
	}
	r.rest.watched.end()
	if r.rest.err == nil && r.rest != nullRest {
		return emptyStatus, nil
	}
	return nullStatus, r.rest.err
}

// result makes the engine's result the user's, once it was taken.
func (r Request) result(s engine.Status, err error) (Status, error) {
	if isTaken(err) {
		return emptyStatus, err
	}
	if rest := r.rest; rest != nil {
		rest.watched.end()
		if t := rest.task; t != nil {
			<-t.done
			return emptyStatus, t.err
		}
		rest.strides.finish(s.Bytes)
	}
	if err != nil {
		err = r.comm.failed(err)
	}
	if r.operation.Unit == sendUnit {
		return emptyStatus, err
	}
	return r.comm.status(s, int(r.operation.Unit)), err
}

// isTaken reports whether the result had been taken before.
func isTaken(err error) bool { return err != nil && errors.Is(err, engine.ErrTaken) }

// untaken replaces a result that was taken before by an empty one.
func untaken(err error) error {
	if isTaken(err) {
		return nil
	}
	return err
}

// emptyStatus is the result of a zero Request, of one whose result was taken, and of a
// send.
var emptyStatus = Status{Source: AnySource, Tag: AnyTag, size: 1}
