package checkpoint

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrLost is the error of Restore if, for at least one rank, no copy is left of a checkpoint that
	// Save had completed.
	ErrLost = errors.New("checkpoint is lost")
	// ErrShape is the error of Restore if the parts differ in number or length from the saved parts,
	// or if the size of the communicator differs.
	ErrShape = errors.New("checkpoint has another shape")
	// ErrStep is the error of Save if the step is negative, is not above the last completed step, or
	// is not the same at all ranks.
	ErrStep = errors.New("bad step of a checkpoint")
	// ErrVersion is the error of Restore if a later version of this package has saved the copy.
	ErrVersion = errors.New("checkpoint of another version")
	// ErrCorrupt is the error of a copy whose checksum or structure is wrong.
	ErrCorrupt = errors.New("checkpoint is corrupt")
)

// LostError is the error of Restore if the copies of some ranks are lost. It is the same at all ranks,
// and wraps ErrLost.
type LostError struct {
	// Step is the step of the last checkpoint that Save had completed.
	Step int
	// Ranks are the ranks, in the communicator, whose copies of that checkpoint are all lost: their
	// own copy and the copy of their keeper.
	Ranks []int
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("%v: no copy of step %d is left of rank %s: lost with its keeper, and in no file", ErrLost, e.Step, strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Ranks), "[]"), " ", ", "))
}

// Unwrap returns ErrLost.
func (e *LostError) Unwrap() error { return ErrLost }
