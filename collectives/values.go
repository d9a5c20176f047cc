package collectives

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime"
)

// valueInline is the length in bytes up to which an encoded value is sent in the same broadcast as its length.
const valueInline = 1016

// BcastValue returns root's v at every member. At root it returns v itself. At the other members it
// returns the value that runtime.RecvValue would receive, and does not use v. If root cannot encode
// its value, all members get a runtime.ValueError. If a member cannot decode the value, only that
// member gets a runtime.ValueError. In both cases the communicator stays usable.
func BcastValue[T any](c *runtime.Comm, v T, root int) (T, error) {
	const op = "BcastValue"
	var zero T
	g, err := beginValues(c, op, root)
	if err != nil {
		return zero, err
	}
	defer g.endValues()
	if c.Rank() != root {
		b, err := bcastValue(c, op, nil, root)
		if err != nil {
			return zero, err
		}
		return runtime.DecodeValue[T](b, op, root)
	}
	b, failure := runtime.AppendValue(nil, v, op, root)
	if _, err := bcastValue(c, op, b, root); err != nil {
		return zero, err
	}
	return v, failure
}

// bcastValue sends the encoded value b of root to every member, and returns it at every member.
func bcastValue(c *runtime.Comm, op string, b []byte, root int) ([]byte, error) {
	first := make([]byte, 8+valueInline)
	if c.Rank() == root {
		binary.LittleEndian.PutUint64(first, uint64(len(b)))
		copy(first[8:], b)
	}
	if err := bcast(new(call), c, first, root).step(); err != nil {
		return nil, err
	}
	n, err := valueLength(binary.LittleEndian.Uint64(first), root)
	if err != nil {
		return nil, abandonValues(c, op, err)
	}
	if n <= valueInline {
		return first[8 : 8+n], nil
	}
	if c.Rank() != root {
		if b, err = runtime.AllocateValues(n); err != nil {
			return nil, abandonValues(c, op, err)
		}
	}
	return b, bcast(new(call), c, b, root).step()
}

// GatherValues returns the values of all members, in the order of their ranks, at root, and nil at
// the other members. The errors are the same as those of AllGatherValues, but only root and the
// member whose value could not be encoded get an error.
func GatherValues[T any](c *runtime.Comm, v T, root int) ([]T, error) {
	const op = "GatherValues"
	g, err := beginValues(c, op, root)
	if err != nil {
		return nil, err
	}
	defer g.endValues()
	b, failure := runtime.AppendValue(nil, v, op, c.Rank())
	counts, total, err := valueCounts(c, op, len(b))
	if err != nil {
		return nil, err
	}
	var all []byte
	if c.Rank() == root {
		if all, err = runtime.AllocateValues(total); err != nil {
			return nil, abandonValues(c, op, err)
		}
	}
	if err := gatherV(new(call), c, b, all, counts, nil, root).step(); err != nil {
		return nil, err
	}
	if c.Rank() != root {
		return nil, failure
	}
	return decodeValues[T](all, counts, op)
}

// AllGatherValues returns the values of all members, in the order of their ranks, at every member. If a
// value cannot be encoded, every member gets a runtime.ValueError with the rank of the member that
// passed the value. If a member cannot decode a value, only that member gets a runtime.ValueError. The
// other values are returned together with the error, and the communicator stays usable.
func AllGatherValues[T any](c *runtime.Comm, v T) ([]T, error) {
	const op = "AllGatherValues"
	g, err := beginValues(c, op, 0)
	if err != nil {
		return nil, err
	}
	defer g.endValues()
	b, _ := runtime.AppendValue(nil, v, op, c.Rank()) // if v cannot be encoded, b has the encoded error
	counts, total, err := valueCounts(c, op, len(b))
	if err != nil {
		return nil, err
	}
	all, err := runtime.AllocateValues(total)
	if err != nil {
		return nil, abandonValues(c, op, err)
	}
	if err := allGatherV(new(call), c, b, all, counts, nil).step(); err != nil {
		return nil, err
	}
	return decodeValues[T](all, counts, op)
}

// ScatterValues returns values[i] of root at member i, as runtime.RecvValue would receive it. values
// is used at root only, where it must have one value for each member. If root cannot encode a value,
// root and the member that should get the value return a runtime.ValueError. The other members get
// their values.
func ScatterValues[T any](c *runtime.Comm, values []T, root int) (T, error) {
	const op = "ScatterValues"
	var zero T
	g, err := beginValues(c, op, root)
	if err != nil {
		return zero, err
	}
	defer g.endValues()
	var lengths []uint64
	var counts []int
	var all []byte
	var failures []error
	if c.Rank() == root {
		if len(values) != c.Size() {
			return zero, callsite.At(fmt.Errorf("%s: %w", op, lengthError("values", len(values), c.Size())))
		}
		for _, v := range values {
			n := len(all)
			var err error
			all, err = runtime.AppendValue(all, v, op, root)
			failures = append(failures, err)
			lengths, counts = append(lengths, uint64(len(all)-n)), append(counts, len(all)-n)
		}
	}
	length := make([]uint64, 1)
	if err := scatter(new(call), c, lengths, length, root).step(); err != nil {
		return zero, err
	}
	n, err := valueLength(length[0], root)
	if err != nil {
		return zero, abandonValues(c, op, err)
	}
	b, err := runtime.AllocateValues(n)
	if err != nil {
		return zero, abandonValues(c, op, err)
	}
	if err := scatterV(new(call), c, all, counts, nil, b, root).step(); err != nil {
		return zero, err
	}
	if err := errors.Join(failures...); err != nil {
		return zero, err
	}
	return runtime.DecodeValue[T](b, op, root)
}

// valueMax is the largest total length, in bytes, of the values of one operation. It is the size of
// the address space of a process on amd64.
const valueMax = 1 << 47

// valueLength checks n, the length of a value that a member has announced. rank is the rank of that member.
func valueLength(n uint64, rank int) (int, error) {
	if n == 0 || n > valueMax {
		return 0, fmt.Errorf("%w: rank %d announces a value of %d bytes", ErrLength, rank, n)
	}
	return int(n), nil
}

// valueCounts exchanges the lengths of the members' encoded values. The argument own is the length of
// this member's value. valueCounts returns the lengths of all members' values, and the sum of these lengths.
func valueCounts(c *runtime.Comm, op string, own int) (counts []int, total int, err error) {
	lengths := make([]uint64, c.Size())
	if err := allGather(new(call), c, []uint64{uint64(own)}, lengths).step(); err != nil {
		return nil, 0, err
	}
	counts = make([]int, len(lengths))
	for rank, n := range lengths {
		if counts[rank], err = valueLength(n, rank); err == nil {
			if total += counts[rank]; total > valueMax {
				err = fmt.Errorf("%w: values of more than %d bytes together", ErrLength, valueMax)
			}
		}
		if err != nil {
			return nil, 0, abandonValues(c, op, err)
		}
	}
	return counts, total, nil
}

// abandonValues breaks the communicator. This ends the operation at all members. abandonValues returns
// cause with the operation and the source line. If cause is the loss of a rank, the result also wraps ErrCommBroken.
func abandonValues(c *runtime.Comm, op string, cause error) error {
	cause = callsite.At(fmt.Errorf("%s: %w", op, cause))
	c.Break(cause)
	return lostWithin(c, cause)
}

// decodeValues decodes the values of all members. The slice all holds the encoded values one after the
// other, and counts holds their lengths. decodeValues returns all values that could be decoded, and the errors of the
// values that could not be decoded.
func decodeValues[T any](all []byte, counts []int, op string) ([]T, error) {
	values := make([]T, len(counts))
	var errs []error
	for rank, n := range counts {
		var err error
		if values[rank], err = runtime.DecodeValue[T](all[:n], op, rank); err != nil {
			errs = append(errs, err)
		}
		all = all[n:]
	}
	return values, errors.Join(errs...)
}
