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
	// if the size of the communicator differs, or if a copy is of another rank.
	ErrShape = errors.New("checkpoint has another shape")
	// ErrStep is the error of Save if the step is negative, is not above the last completed or restored
	// step, or is not the same at all ranks.
	ErrStep = errors.New("bad step of a checkpoint")
	// ErrVersion is the error of Restore if a later version of this package has saved the copy.
	ErrVersion = errors.New("checkpoint of another version")
	// ErrCorrupt is the error of Restore and Save if a copy that a rank has received, or that it has to
	// restore, has a wrong checksum or a wrong structure. A corrupt file is treated like a file that does
	// not exist.
	ErrCorrupt = errors.New("checkpoint is corrupt")
)

// LostError is the error of Restore if the copies of some ranks are lost. It is the same at all ranks,
// and wraps ErrLost.
type LostError struct {
	// Step is the step of the last checkpoint that Save had completed.
	Step int
	// Ranks are the ranks, in the communicator, that have no copy of that checkpoint left:
	// neither in their own memory, nor in the memory of their keeper, nor in a file.
	Ranks []int
}

// Error implements error.
func (e *LostError) Error() string {
	return fmt.Sprintf("%v: step %d has no copy of rank %s: the rank and its keeper were lost, and no file has a copy", ErrLost, e.Step, strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Ranks), "[]"), " ", ", "))
}

// Unwrap returns ErrLost.
func (e *LostError) Unwrap() error { return ErrLost }
