package collectives

import (
	"errors"

	"github.com/gorun-hpc/gorun/runtime"
)

// ReduceValue combines the values of all members by fn at root, and returns the zero value
// elsewhere. fn must be associative; it need not be commutative: its first argument is of lower
// ranks than its second. It may change its arguments and return them; one of them may be v.
//
// The values go along a binomial tree, in one message of each member. If one cannot be encoded or
// decoded, the rank at which that happens and root get a runtime.ValueError, the others may, and the
// communicator can be used on.
func ReduceValue[T any](c *runtime.Comm, v T, fn func(a, b T) T, root int) (T, error) {
	const op = "ReduceValue"
	var zero T
	r, err := newReduction(c, op, root)
	if err != nil {
		return zero, err
	}
	defer r.end()
	// The tree ends at rank 0, so that operands stay in the order of the ranks.
	v, failure, err := reduceTree(r, v, fn)
	switch rank := c.Rank(); {
	case err != nil || root == 0:
	case rank == 0:
		err = sendPartial(r, v, &failure, root)
	case rank == root:
		v, failure, err = recvPartial[T](r, 0)
	}
	if err != nil {
		return zero, r.abandon(err)
	}
	if failure != nil || c.Rank() != root {
		return zero, failure
	}
	return v, nil
}

// AllReduceValue is ReduceValue with the result at every member: an error of a value is one of all.
func AllReduceValue[T any](c *runtime.Comm, v T, fn func(a, b T) T) (T, error) {
	const op = "AllReduceValue"
	var zero T
	r, err := newReduction(c, op, 0)
	if err != nil {
		return zero, err
	}
	defer r.end()
	v, failure, err := reduceTree(r, v, fn)
	if err != nil {
		return zero, r.abandon(err)
	}
	if c.Rank() != 0 {
		b, err := bcastValue(c, op, nil, 0)
		if err != nil {
			return zero, err
		}
		return runtime.DecodeValue[T](b, op, 0)
	}
	b := r.encoded(&failure, func(b []byte) ([]byte, error) { return runtime.AppendValue(b, v, op, 0) })
	if _, err := bcastValue(c, op, b, 0); err != nil || failure != nil {
		return zero, errors.Join(err, failure)
	}
	return v, nil
}

// reduction is a ReduceValue. Its messages are in the private communicator.
type reduction struct {
	comm *runtime.Comm
	op   string
	*valueUse
}

// newReduction begins a reduction. Unless it fails, end follows.
func newReduction(c *runtime.Comm, op string, root int) (*reduction, error) {
	use, err := beginValues(c, op, root)
	if err != nil {
		return nil, err
	}
	return &reduction{c, op, use}, nil
}

// abandon ends the reduction for all members.
func (r *reduction) abandon(err error) error {
	r.comm.Break(err)
	return err
}

// reduceTree combines the values of all members at rank 0. The failure is one of a value, which rank 0
// learns of, too; after an err the communicator cannot be used.
func reduceTree[T any](r *reduction, v T, fn func(a, b T) T) (sum T, failure, err error) {
	rank, size := r.comm.Rank(), r.comm.Size()
	for step := 1; step < size; step <<= 1 {
		if rank&step != 0 {
			return v, failure, sendPartial(r, v, &failure, rank-step)
		}
		if rank+step >= size {
			continue
		}
		other, failed, err := recvPartial[T](r, rank+step)
		switch {
		case err != nil:
			return v, failure, err
		case failed != nil:
			failure = errors.Join(failure, failed)
		case failure == nil:
			v = fn(v, other)
		}
	}
	return v, failure, nil
}

// sendPartial sends a value, or the failure, to another member. If it cannot be encoded that is the failure.
func sendPartial[T any](r *reduction, v T, failure *error, to int) error {
	b := r.encoded(failure, func(b []byte) ([]byte, error) { return runtime.AppendValue(b, v, r.op, r.comm.Rank()) })
	return runtime.Send(r.comm.Private(), b, to, tagValue)
}

// encoded returns the bytes of a value, or of the failure if there is one or it cannot be encoded.
func (r *reduction) encoded(failure *error, fn func(b []byte) ([]byte, error)) (b []byte) {
	if *failure != nil {
		return runtime.AppendFailure(nil, *failure)
	}
	b, *failure = fn(nil)
	return b
}

// recvPartial receives what sendPartial sends.
func recvPartial[T any](r *reduction, from int) (v T, failure, err error) {
	m, err := runtime.RecvMessage(r.comm.Private(), from, tagValue)
	if err != nil {
		return v, nil, err
	}
	defer m.Close()
	v, failure = runtime.DecodeValue[T](m.Bytes(), r.op, from)
	return v, failure, nil
}
