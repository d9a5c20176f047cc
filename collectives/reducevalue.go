package collectives

import (
	"errors"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// ReduceValue combines the values of all members by fn. It returns the result at root, and the zero
// value at the other members. fn must be associative. It need not be commutative: its first argument
// comes from lower ranks than its second. fn may change its arguments and return one of them; v may
// be one of the arguments.
//
// The values are combined along a binomial tree. Each member sends at most one message. If a value
// cannot be encoded or decoded at a rank, that rank and root get a runtime.ValueError; other members
// may get it, too. The communicator stays usable.
func ReduceValue[T any](c *runtime.Comm, v T, fn func(a, b T) T, root int) (T, error) {
	const op = "ReduceValue"
	var zero T
	r, err := newReduction(c, op, message.Reduce, root)
	if err != nil {
		return zero, err
	}
	defer r.group.endValues()
	// The root of the tree is rank 0, so that the operands stay in the order of the ranks.
	v, failure, err := reduceTree(r, v, fn)
	switch rank := c.Rank(); {
	case err != nil || root == 0:
	case rank == 0:
		err = sendPartial(r, v, &failure, root)
	case rank == root:
		v, failure, err = recvPartial[T](r, 0)
	}
	if err != nil {
		return zero, abandonValues(c, op, err)
	}
	if failure != nil || c.Rank() != root {
		return zero, failure
	}
	return v, nil
}

// AllReduceValue is ReduceValue with the result at every member. If a value cannot be encoded, or cannot be
// decoded in order to be combined, every member gets an error. If a member cannot decode the result, only
// that member gets an error.
func AllReduceValue[T any](c *runtime.Comm, v T, fn func(a, b T) T) (T, error) {
	const op = "AllReduceValue"
	var zero T
	r, err := newReduction(c, op, message.AllReduce, 0)
	if err != nil {
		return zero, err
	}
	defer r.group.endValues()
	v, failure, err := reduceTree(r, v, fn)
	if err != nil {
		return zero, abandonValues(c, op, err)
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

// reduction is a ReduceValue or AllReduceValue in progress. Its messages are in the private
// communicator.
type reduction struct {
	comm  *runtime.Comm
	op    string
	group *group
}

// newReduction begins a reduction. If it returns no error, the caller must call endValues of the group.
func newReduction(c *runtime.Comm, op string, which message.Operation, root int) (*reduction, error) {
	g, err := beginValues(c, op, root)
	if err != nil {
		return nil, err
	}
	g.announce(&call{group: g, op: which, Call: message.Call{Root: root, Reduction: message.Reduction{Operator: message.UserOperator}}})
	if g.compared {
		g.watch.wake(g)
	}
	return &reduction{c, op, g}, nil
}

// reduceTree combines the values of all members at rank 0. failure is the error of a value that could
// not be encoded or decoded; this error is also sent on to rank 0. err is the error of a message;
// after such an error the communicator cannot be used.
func reduceTree[T any](r *reduction, v T, fn func(a, b T) T) (sum T, failure, err error) {
	rank, size := r.comm.Rank(), r.comm.Size()
	for step := 1; step < size; step <<= 1 {
		if rank&step != 0 {
			err = sendPartial(r, v, &failure, rank-step) // sendPartial may set failure
			return v, failure, err
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
			v = combineOperands(r, fn, v, other)
		}
	}
	return v, failure, nil
}

// combineOperands calls fn. If fn panics, combineOperands breaks the communicator.
func combineOperands[T any](r *reduction, fn func(a, b T) T, a, b T) T {
	returned := false
	defer func() {
		if !returned {
			_ = abandonValues(r.comm, r.op, errOperator)
		}
	}()
	v := fn(a, b)
	returned = true
	return v
}

// sendPartial sends v to another member or, if *failure is not nil, sends *failure instead. If v
// cannot be encoded, it sets *failure and sends *failure.
func sendPartial[T any](r *reduction, v T, failure *error, to int) error {
	b := r.encoded(failure, func(b []byte) ([]byte, error) { return runtime.AppendValue(b, v, r.op, r.comm.Rank()) })
	return runtime.Send(r.comm.Private(), b, to, tagValue)
}

// encoded returns the encoded failure if *failure is not nil. Otherwise it calls fn, which appends an
// encoded value to b. It then returns the bytes that fn returned, and sets *failure to the error of
// fn.
func (r *reduction) encoded(failure *error, fn func(b []byte) ([]byte, error)) (b []byte) {
	if *failure != nil {
		return runtime.AppendFailure(nil, *failure)
	}
	b, *failure = fn(nil)
	return b
}

// recvPartial receives a message of sendPartial. failure is the error that it contained, or the error
// of decoding the value.
func recvPartial[T any](r *reduction, from int) (v T, failure, err error) {
	m, err := runtime.RecvMessage(r.comm.Private(), from, tagValue)
	if err != nil {
		return v, nil, err
	}
	defer m.Close()
	v, failure = runtime.DecodeValue[T](m.Bytes(), r.op, from)
	return v, failure, nil
}
