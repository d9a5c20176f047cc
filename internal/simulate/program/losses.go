package program

import (
	"errors"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// losses says which errors of an operation are to be expected.
type losses struct {
	mortal bool // a rank may die
	rank   int  // which one
}

func newLosses(c *simulate.Conditions) *losses {
	if len(c.Deaths) == 0 {
		return &losses{}
	}
	return &losses{mortal: true, rank: c.Deaths[0].Rank}
}

// unexpected returns nil for the loss of the rank that may be lost, simulate.ErrGivenUp
// for what breaks a communicator because of it, else the error.
func (l *losses) unexpected(err error) error {
	var lost *runtime.PeerError
	switch {
	case !l.mortal || !errors.As(err, &lost) || lost.Rank != l.rank:
		return err
	case errors.Is(err, runtime.ErrCommBroken):
		return simulate.ErrGivenUp
	}
	return nil
}
