package runtime

import (
	"errors"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// WaitAll waits for all requests and returns their errors joined, nil if none
// failed. It waits for every one even when some fail. nil requests are complete.
func WaitAll(requests ...*Request) error {
	var errs []error
	var room [waitAllBatch]*engine.Request
	for len(requests) > 0 {
		n := 0
		for n < len(requests) && n < waitAllBatch && requests[n].joins(requests[0]) {
			room[n] = nil
			if r := requests[n]; r != nil {
				room[n] = r.operation
			}
			n++
		}
		if n > 1 {
			collect(requests[:n], room[:n])
		}
		n = max(n, 1)
		for _, r := range requests[:n] {
			if _, err := r.Wait(); err != nil {
				errs = append(errs, err)
			}
		}
		requests = requests[n:]
	}
	return errors.Join(errs...)
}

// waitAllBatch is how many requests WaitAll hands to the engine at a time.
const waitAllBatch = 64

// joins reports whether r can be waited for together with first.
func (r *Request) joins(first *Request) bool {
	if r == nil || r.operation == nil {
		return true
	}
	return r.rest == nil && first != nil && first.comm != nil && r.comm.engine == first.comm.engine && r.comm.ctx == first.comm.ctx
}

// collect ends requests that can be waited for together.
func collect(requests []*Request, operations []*engine.Request) {
	var results [waitAllBatch]engine.Result
	for _, o := range operations {
		if o != nil {
			c := requests[0].comm
			// Every request keeps its own error.
			_ = c.engine.WaitAll(c.ctx, operations, results[:])
			break
		}
	}
	for i, o := range operations {
		if o != nil {
			requests[i].finish(results[i].Status, results[i].Err)
		}
	}
}

// WaitAny waits until one of the requests is complete, and returns its index and
// result. It skips nil requests and those whose result was returned before; when
// nothing is left it returns Undefined. When the context of the first request left
// ends, so does the waiting: the index is Undefined and no request is changed.
func WaitAny(requests ...*Request) (int, Status, error) {
	var first *Request
	for i, r := range requests {
		if r == nil || r.returned {
			continue
		}
		if r.operation == nil {
			s, err := r.Wait()
			return i, s, err
		}
		if first == nil {
			first = r
		}
	}
	if first == nil {
		return Undefined, emptyStatus, nil
	}
	c := first.comm
	var room [32]*engine.Request
	operations := append(room[:0], make([]*engine.Request, len(requests))...)
	for i, r := range requests {
		if r != nil && !r.returned {
			operations[i] = r.operation
		}
	}
	i, s, err := c.engine.WaitAny(c.ctx, operations)
	if i < 0 {
		return Undefined, Status{}, c.failed(err)
	}
	r := requests[i]
	r.finish(s, err)
	status, err := r.Wait()
	return i, status, err
}

// WaitSome waits until at least one request is complete and returns the indices
// of all that are, nil when nothing is left; which requests are left is as in
// WaitAny. Their results are had by Wait. The error is that of the waiting.
func WaitSome(requests ...*Request) ([]int, error) {
	i, _, err := WaitAny(requests...)
	if i == Undefined {
		return nil, err
	}
	var indices []int
	for k, r := range requests {
		if r == nil || r.returned && k != i || !r.settle() {
			continue
		}
		r.returned = true
		indices = append(indices, k)
	}
	return indices, nil
}

// TestAll reports whether all requests are complete, and their errors joined if
// so.
func TestAll(requests ...*Request) (bool, error) {
	all := true
	for _, r := range requests {
		if !r.Done() {
			all = false // the others still make progress
		}
	}
	if !all {
		return false, nil
	}
	return true, WaitAll(requests...)
}

// TestAny is WaitAny that does not wait. It reports whether a request was
// complete; also when nothing is left, with Undefined as the index.
func TestAny(requests ...*Request) (int, Status, bool, error) {
	left := false
	for i, r := range requests {
		if r == nil || r.returned {
			continue
		}
		left = true
		if s, ok, err := r.Test(); ok {
			return i, s, true, err
		}
	}
	return Undefined, emptyStatus, !left, nil
}
