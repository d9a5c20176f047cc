package runtime

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/value"
)

// AppendValue appends the bytes of a value, as SendValue sends them, to b. If the value cannot be
// encoded it appends a failure, which DecodeValue returns as an error, and returns the error: a
// collective operation goes on with it, so that no member waits for ever. op and rank are for the
// ValueError.
func AppendValue[T any](b []byte, v T, op string, rank int) ([]byte, error) {
	grown, err := value.Append(b, &v)
	if err != nil {
		err = callsite.At(&ValueError{Op: op, Rank: rank, Tag: AnyTag, Type: value.Name[T](), Cause: err})
		return value.AppendFailure(b, err), err
	}
	return grown, nil
}

// AppendFailure appends a failure in place of a value.
func AppendFailure(b []byte, cause error) []byte { return value.AppendFailure(b, cause) }

// DecodeValue decodes what AppendValue of a rank appended. The result does not refer to b. Its
// errors are ValueErrors of op and rank.
func DecodeValue[T any](b []byte, op string, rank int) (T, error) {
	var v, zero T
	err := value.Decode(b, &v)
	if err == nil {
		return v, nil
	}
	if t, ok := errors.AsType[*value.TypeError](err); ok {
		err = &TypeMismatchError{Source: rank, Tag: AnyTag, Sent: t.Sent, Want: t.Want}
	}
	return zero, callsite.At(&ValueError{Op: op, Rank: rank, Tag: AnyTag, Type: value.Name[T](), Cause: err})
}

// AllocateValues returns n bytes for values whose lengths other ranks announced, or why this process
// cannot have them: Go ends the process when the system refuses memory.
func AllocateValues(n int) ([]byte, error) {
	b, err := allocate(n)
	if err != nil {
		return nil, callsite.At(fmt.Errorf("no memory for values of %d bytes: %w", n, err))
	}
	return b, nil
}
