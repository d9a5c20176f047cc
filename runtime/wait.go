package runtime

import (
	"errors"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Completion is the result of one of several requests.
type Completion struct {
	// Index is the index of the request in the slice of requests.
	Index  int
	Status Status
	Err    error
}

// WaitAll waits for all requests, takes their results and sets the requests to zero Requests. It
// waits for every request even if some fail. It returns the joined errors of the requests, or nil
// if no request failed. In the handler of an inline actor, WaitAll does not wait for the Request of a
// NewRequest whose function has not returned. The error is then ErrInline, the operation continues, and
// WaitAll leaves this Request in the slice.
func WaitAll(requests []Request) error {
	var errs []error
	for len(requests) > 0 {
		n := 0
		for n < len(requests) && n < waitAllBatch && requests[n].joins(requests[0].comm) {
			n++
		}
		if n > 1 {
			errs = collect(errs, requests[:n])
		} else {
			n = 1
			_, err := requests[0].Wait()
			if err != nil {
				errs = append(errs, err)
			}
			if requests[0].continues(err) {
				requests = requests[n:]
				continue
			}
		}
		clear(requests[:n])
		requests = requests[n:]
	}
	return errors.Join(errs...)
}

// waitAllBatch is the maximum number of requests that WaitAll passes to the engine at a time.
const waitAllBatch = 64

// joins reports whether one call of the engine can wait for r together with requests of c.
func (r Request) joins(c *Comm) bool {
	if r.rest != nil || c == nil {
		return false
	}
	return r.comm == c || r.operation.Zero() || r.comm.ctx == nil && c.ctx == nil && r.comm.engine == c.engine
}

// collect waits for requests with one call of the engine (see joins), and appends their errors to errs.
func collect(errs []error, requests []Request) []error {
	var room [waitAllBatch]engine.Handle
	for i := range requests {
		room[i] = requests[i].operation
	}
	c := requests[0].comm
	for i, err := range c.engine.WaitAll(c.ctx, room[:len(requests)]) {
		if err != nil {
			errs = append(errs, requests[i].comm.failed(err))
		}
	}
	return errs
}

// WaitAny waits until one of the requests is complete, returns its index and result, and sets it to
// the zero Request. It skips requests that are zero or whose result was taken. If it skips all, it
// returns Undefined. If the context.Context of the first request that it does not skip ends,
// WaitAny returns with an error and the index Undefined, and changes no request. In the handler of an inline
// actor, it does the same with ErrInline if no request is complete.
func WaitAny(requests []Request) (int, Status, error) {
	var first *Comm
	for i, r := range requests {
		if r.operation.Zero() {
			if r.zero() {
				continue
			}
			requests[i] = Request{}
			s, err := r.early()
			return i, s, err
		}
		if first == nil && !r.operation.Taken() {
			first = r.comm
		}
	}
	if first == nil {
		return Undefined, emptyStatus, nil
	}
	i, s, err := first.engine.WaitAny(first.ctx, len(requests), func(i int) engine.Handle { return requests[i].operation })
	if i < 0 {
		return Undefined, Status{}, first.failed(err)
	}
	r := requests[i]
	requests[i] = Request{}
	status, err := r.result(s, err)
	return i, status, err
}

// WaitSome waits until at least one request is complete. It returns the results of
// all complete requests, in the order of the requests, and sets these to zero Requests.
// It skips the same requests as WaitAny; if it skips all, it returns nil. WaitSome returns an error
// only if the wait itself fails.
func WaitSome(requests []Request) ([]Completion, error) {
	i, s, err := WaitAny(requests)
	if i == Undefined {
		return nil, err
	}
	var ended []Completion
	for k, r := range requests {
		if k == i {
			ended = append(ended, Completion{i, s, err})
			continue
		}
		if r.zero() {
			continue
		}
		if s, ok, err := r.test(); ok && !isTaken(err) {
			ended = append(ended, Completion{k, s, err})
			requests[k] = Request{}
		}
	}
	return ended, nil
}

// TestAll is WaitAll without waiting. It reports whether all requests are complete. If a request is
// not complete, TestAll changes no request.
func TestAll(requests []Request) (bool, error) {
	all := true
	for _, r := range requests {
		if !r.Done() {
			all = false // no break: the calls of Done for the other requests make progress, too
		}
	}
	if !all {
		return false, nil
	}
	return true, WaitAll(requests)
}

// TestAny is WaitAny without waiting. It also reports whether a request was complete. If
// it skips all requests as WaitAny does, it reports true, with Undefined as the index.
func TestAny(requests []Request) (int, Status, bool, error) {
	left := false
	for i, r := range requests {
		if r.zero() {
			continue
		}
		s, ok, err := r.test()
		if isTaken(err) {
			continue
		}
		if ok {
			requests[i] = Request{}
			return i, s, true, err
		}
		left = true
	}
	return Undefined, emptyStatus, !left, nil
}
