package runtime

import (
	"errors"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Request is a handle of an operation that was started. It is a small value, for which most
// operations allocate no memory. Its copies stand for the same operation. The operation belongs to
// one goroutine at a time. The program may drop a Request whose result it does not need;
// gorun -check reports this. The zero Request is complete.
//
// The result is taken once: by Wait, Test or a function on several requests that returns
// it. After that the operation is complete, with an empty Status and no error. A Request
// that was complete at its start, such as the Request of a small send, does not record
// whether its result was taken. A Request whose operation could not be started returns its
// error each time.
type Request struct {
	comm *Comm
	// rest is the work that remains at the end of the operation; nil for most operations.
	rest *rest
	// operation is the engine's handle, zero if the engine has no operation. Its Unit is the
	// size of an element in bytes, or sendUnit for a send.
	operation engine.Handle
}

// sendUnit marks operations whose Status is empty.
const sendUnit = -1

// rest holds the work that remains at the end of an operation, or the error of an
// operation that could not be started.
type rest struct {
	// task is the function of a NewRequest, else nil. When the function has returned, the
	// rank sends itself the message that the operation receives.
	task    *task
	strides strides
	err     error
	// watched is the record of the request in the check, nil without a check.
	watched *watched
}

// nullRest is the rest of an operation whose peer is ProcNull.
var nullRest = new(rest)

// unstarted returns the Request of an operation that was not started. The reason is err or, if err is
// nil, that the peer of the operation is ProcNull.
func unstarted(err error) Request {
	if err != nil {
		return Request{rest: &rest{err: err}}
	}
	return Request{rest: nullRest}
}

// watched returns r with its record p in the check; p is nil without a check.
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

// task returns the function of a NewRequest, else nil.
func (r Request) task() *task {
	if r.rest == nil {
		return nil
	}
	return r.rest.task
}

// Wait waits for the end of the operation and takes its result. The Status of a send is empty. If
// the context.Context of the view on which the operation was started ends first, Wait cancels the
// operation as Cancel does. It then returns the error of this context.Context. If the message has
// already been matched, Wait waits for the end of the transfer and returns the result instead. In the handler of an
// inline actor, Wait does not wait: it cancels the operation at once, and returns ErrInline. It does not cancel the
// operation of a NewRequest, which continues.
func (r Request) Wait() (Status, error) {
	if r.operation.Zero() {
		return r.early()
	}
	ctx := r.comm.ctx
	if t := r.task(); t != nil {
		if err := r.comm.engine.Inline("wait"); err != nil && !r.Done() {
			return emptyStatus, err // the request continues
		}
		ctx = nil // the function has a context.Context of its own
		if t.lent && t.engine.Take(&t.work) {
			t.run() // here, because its goroutine has not begun: no switch between goroutines
		} else {
			r.operation.Attend(t.ending())
		}
	}
	s, err := r.result(r.operation.Wait(ctx))
	return s, untaken(err)
}

// continues reports whether the operation goes on after a Wait that returned err.
func (r Request) continues(err error) bool { return errors.Is(err, ErrInline) && !r.operation.Taken() }

// Test makes progress and reports whether the operation has ended. If it has ended, Test takes the
// result.
func (r Request) Test() (Status, bool, error) {
	s, ok, err := r.test()
	return s, ok, untaken(err)
}

// Done makes progress and reports whether the operation has ended. It does not take the
// result.
func (r Request) Done() bool {
	ended := r.operation.Look()
	// At the end of the engine the operation ends before its task.
	t := r.task()
	return ended && (t == nil || t.ended())
}

// Cancel cancels an operation that has not been matched yet; Wait then returns ErrCanceled. After
// the match Cancel does nothing. Cancel neither waits nor takes the result: until Wait or Test has returned
// the result, the buffer of the operation must not be used. For a NewRequest, Cancel ends the context.Context
// of its function.
//
// A small standard send cannot be canceled once its message has been copied into the lane,
// although no receive has matched it. It can be canceled while it waits for the
// connection to a rank of another node or for room in the lane. If the receiver has no room left for
// unexpected messages, the send can be canceled until a receive matches its message. If Wait returns nil, the message
// arrives. If Wait returns ErrCanceled, the message never arrives.
func (r Request) Cancel() {
	if t := r.task(); t != nil {
		t.cancel()
		return
	}
	r.operation.Cancel()
}

// test is Test, but returns engine.ErrTaken if the result was taken before.
func (r Request) test() (Status, bool, error) {
	if r.operation.Zero() {
		s, err := r.early()
		return s, true, err
	}
	if t := r.task(); t != nil && !r.Done() {
		return Status{}, false, nil
	}
	s, ok, err := r.operation.Test()
	if !ok {
		return Status{}, false, nil
	}
	status, err := r.result(s, err)
	return status, true, err
}

// early returns the result of an operation that was complete at its start or could not be started.
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

// result converts a result taken from the engine into the result for the user, and does the work
// that rest holds.
func (r Request) result(s engine.Status, err error) (Status, error) {
	if isTaken(err) {
		return emptyStatus, err
	}
	if rest := r.rest; rest != nil {
		rest.watched.end()
		if t := rest.task; t != nil {
			return emptyStatus, t.result()
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

// untaken replaces engine.ErrTaken by nil: the user gets an empty result instead.
func untaken(err error) error {
	if isTaken(err) {
		return nil
	}
	return err
}

// emptyStatus is the Status of a zero Request, of a Request whose result was taken, of a send to a rank
// other than ProcNull, and of a NewRequest.
var emptyStatus = Status{Source: AnySource, Tag: AnyTag, size: 1}
