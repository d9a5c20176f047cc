package runtime

import "github.com/gorun-hpc/gorun/runtime/internal/engine"

// Request is an operation that was started. A nil Request is complete. It
// belongs to one goroutine at a time, and may be dropped when its end is of no
// interest. It is one object of 64 bytes: programs make millions of them.
type Request struct {
	comm *Comm
	// operation is the engine's, nil once it has ended: the engine uses it again.
	operation *engine.Request
	// rest is what is left to do at the end of the operation; mostly nil.
	rest *rest
	// source, tag and bytes are the Status, and err the error, once the operation
	// has ended.
	bytes       int
	err         error
	source, tag int32
	// size is that of an element in bytes.
	size int32
	// returned says that the result was given to the caller, so that WaitAny and
	// WaitSome skip the request.
	returned bool
}

// rest is what is left to do at the end of an operation: one of the two.
type rest struct {
	// task is the goroutine of a NewRequest, whose end is the message that the
	// operation receives.
	task    *task
	strides strides
}

// status returns the Status of an operation that has ended.
func (r *Request) status() Status {
	return Status{Source: int(r.source), Tag: int(r.tag), Bytes: r.bytes, size: int(r.size)}
}

// task returns the goroutine of a NewRequest, else nil.
func (r *Request) task() *task {
	if r.rest == nil {
		return nil
	}
	return r.rest.task
}

// Wait waits for the end of the operation and returns its result, each time the
// same. When the context of the view with which it was started ends first, the
// operation is canceled as by Cancel; Wait then returns the context's error, or
// the result if the message had been matched already.
func (r *Request) Wait() (Status, error) {
	if r == nil {
		return emptyStatus, nil
	}
	if r.operation != nil {
		ctx := r.comm.ctx
		if r.task() != nil {
			ctx = nil // it has a context of its own
		}
		r.finish(r.operation.Wait(ctx))
	}
	r.returned = true
	return r.status(), r.err
}

// Test makes progress, and reports whether the operation has ended, and its result
// if so.
func (r *Request) Test() (Status, bool, error) {
	if r == nil {
		return emptyStatus, true, nil
	}
	if !r.settle() {
		return Status{}, false, nil
	}
	r.returned = true
	return r.status(), true, r.err
}

// Done makes progress, reports whether the operation has ended and leaves the
// request as it is: WaitAny and WaitSome still return it.
func (r *Request) Done() bool { return r == nil || r.settle() }

// Cancel asks to end an operation that is not matched yet; Wait then returns
// ErrCanceled. Too late it does nothing. Wait or Test is still due. The function
// of a NewRequest finds its context ended.
func (r *Request) Cancel() {
	switch {
	case r == nil || r.operation == nil:
	case r.task() != nil:
		r.rest.task.cancel()
	default:
		r.operation.Cancel()
	}
}

// settle takes over the result if the operation has ended.
func (r *Request) settle() bool {
	if r.operation != nil {
		s, ok, err := r.operation.Test()
		if !ok {
			return false
		}
		r.finish(s, err)
	}
	return true
}

// finish takes over the engine's result.
func (r *Request) finish(s engine.Status, err error) {
	r.operation = nil
	if rest := r.rest; rest != nil {
		r.rest = nil
		if t := rest.task; t != nil {
			<-t.done
			r.end(emptyStatus, t.err)
			return
		}
		rest.strides.finish(s.Bytes)
	}
	if err != nil {
		err = r.comm.failed(err)
	}
	r.end(r.comm.status(s, int(r.size)), err)
}

// end sets the result.
func (r *Request) end(s Status, err error) {
	r.source, r.tag, r.bytes, r.size, r.err = int32(s.Source), int32(s.Tag), s.Bytes, int32(s.size), err
}

// emptyStatus is the result of a request that is nobody's.
var emptyStatus = Status{Source: AnySource, Tag: AnyTag, size: 1}
