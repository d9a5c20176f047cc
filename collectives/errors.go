package collectives

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

var (
	// ErrOp is the error for an operator that is not defined for the element type.
	ErrOp = errors.New("operator does not fit the element type")
	// ErrLength is the error for buffers or messages whose lengths do not fit together.
	ErrLength = message.ErrLength
	// ErrOverride is the error for a GORUN_COLL that is malformed, or that names an operation or an
	// algorithm that does not exist.
	ErrOverride = errors.New("bad GORUN_COLL")
)

func rootError(root, size int) error {
	return fmt.Errorf("%w: root %d, but the ranks are 0 to %d", runtime.ErrRank, root, size-1)
}

func lengthError(buffer string, got, want int) error {
	return fmt.Errorf("%w: %s holds %d elements, not %d", ErrLength, buffer, got, want)
}

// errAlias is the error of an operation whose buffers overlap in a way that it does not permit.
var errAlias = fmt.Errorf("%w: send and recv", runtime.ErrAlias)

// disjoint returns an error if a and b share bytes. One of them is the buffer send, the other is recv.
func disjoint(a, b []byte) error {
	if same, partial := kernel.Overlap(a, b); same || partial {
		return errAlias
	}
	return nil
}
