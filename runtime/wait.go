package runtime

import (
	"errors"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Completion is the result of one of several requests.
type Completion struct {
	// Index is its place among them.
	Index  int
	Status Status
	Err    error
}

// WaitAll waits for all requests, takes their results and makes them zero Requests. It
// returns their errors joined, nil if none failed, and waits for every one even when some
// fail.
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
			if _, err := requests[0].Wait(); err != nil {
				errs = append(errs, err)
			}
		}
		clear(requests[:n])
		requests = requests[n:]
	}
	return errors.Join(errs...)
}

// waitAllBatch is how many requests WaitAll hands to the engine at a time.
const waitAllBatch = 64

// joins reports whether r can be waited for together with the requests of c.
func (r Request) joins(c *Comm) bool {
	if r.rest != nil || c == nil {
		return false
	}
	return r.comm == c || r.operation.Zero() || r.comm.ctx == nil && c.ctx == nil && r.comm.engine == c.engine
}

// collect ends requests that can be waited for together, and appends their errors.
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

// WaitAny waits until one of the requests is complete, returns its index and
// result, and makes it the zero Request. It skips those that are zero or whose
// result was taken; when nothing is left it returns Undefined. When the context of
// the first request left ends, so does the waiting: the index is Undefined and no
// request is changed.
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

// WaitSome waits until at least one request is complete, returns the results of
// all that are, in order, and makes them zero Requests; nil when nothing is left.
// Which requests are left is as in WaitAny. The error is that of the waiting.
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

// TestAll is WaitAll that does not wait. It reports whether all requests are complete, and
// changes none unless they are.
func TestAll(requests []Request) (bool, error) {
	all := true
	for _, r := range requests {
		if !r.Done() {
			all = false // the others still make progress
		}
	}
	if !all {
		return false, nil
	}
	return true, WaitAll(requests)
}

// TestAny is WaitAny that does not wait. It reports whether a request was
// complete; also when nothing is left, with Undefined as the index.
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
