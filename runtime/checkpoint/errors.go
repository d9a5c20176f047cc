package checkpoint

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrLost says that a copy that Save had completed exists nowhere any more.
	ErrLost = errors.New("checkpoint is lost")
	// ErrShape refuses parts of other lengths than those that were saved, and a communicator of
	// another size.
	ErrShape = errors.New("checkpoint has another shape")
	// ErrStep refuses a step that is not the same at all ranks, or not above the last one.
	ErrStep = errors.New("bad step of a checkpoint")
	// ErrVersion refuses a copy that a later version of this package has saved.
	ErrVersion = errors.New("checkpoint of another version")
	// ErrCorrupt refuses a copy whose checksum is wrong.
	ErrCorrupt = errors.New("checkpoint is corrupt")
)

// LostError is the loss of the copies of some ranks, the same at all ranks. It is ErrLost.
type LostError struct {
	// Step is the last step that Save had completed.
	Step int
	// Ranks are the ranks of the communicator whose copies of it are gone, with their keepers'.
	Ranks []int
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("%v: no copy of step %d is left of rank %s: lost with its keeper, and in no file", ErrLost, e.Step, strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Ranks), "[]"), " ", ", "))
}

// Unwrap returns ErrLost.
func (e *LostError) Unwrap() error { return ErrLost }
