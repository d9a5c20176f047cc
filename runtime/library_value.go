package runtime

import (
	"fmt"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/value"
)

// AppendValue appends the bytes of a value to b, encoded as SendValue encodes it. If the value
// cannot be encoded, AppendValue appends a failure and returns the error. DecodeValue returns a
// failure as an error. A collective operation sends the failure in place of the value, so that no
// member waits for ever. op and rank become fields of the ValueError.
func AppendValue[T any](b []byte, v T, op string, rank int) ([]byte, error) {
	grown, err := value.Append(b, &v)
	if err != nil {
		err = valueError[T](op, rank, AnyTag, err)
		return value.AppendFailure(b, err), err
	}
	return grown, nil
}

// AppendFailure appends a failure with this cause in place of a value.
func AppendFailure(b []byte, cause error) []byte { return value.AppendFailure(b, cause) }

// DecodeValue decodes the bytes that AppendValue appended at the given rank. The result does not
// refer to b. Errors are ValueErrors with this op and rank.
func DecodeValue[T any](b []byte, op string, rank int) (T, error) {
	var v, zero T
	err := value.Decode(b, &v)
	if err == nil {
		return v, nil
	}
	return zero, valueError[T](op, rank, AnyTag, err)
}

// AllocateValues allocates n bytes for values whose lengths other ranks have announced. If n exceeds
// 64 MiB and a limit of the machine or of the process forbids n bytes, it returns an error that says why. A plain
// allocation would end the process, because Go ends a process to which the system refuses memory.
func AllocateValues(n int) ([]byte, error) {
	b, err := allocate(n)
	if err != nil {
		return nil, callsite.At(fmt.Errorf("no memory for values of %d bytes: %w", n, err))
	}
	return b, nil
}
