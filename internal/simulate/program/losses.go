package program

import (
	"errors"

	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// losses decides which errors of an operation are expected.
type losses struct {
	mortal bool // a rank may die
	rank   int  // the rank that may die
}

func newLosses(c *simulate.Conditions) *losses {
	if len(c.Deaths) == 0 {
		return &losses{}
	}
	return &losses{mortal: true, rank: c.Deaths[0].Rank}
}

// unexpected returns nil if err reports the loss of the rank that may die. It returns simulate.ErrGivenUp if
// a communicator is broken because of that loss, and err in all other cases.
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
