package checkpoint

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// The values that a member contributes to agree: no error, an error, or the loss of a rank. For the
// loss of a rank the member contributes faultLoss plus the number of the lost rank.
const (
	faultNone = iota
	faultOther
	faultLoss
)

// errElsewhere is the error of a member that has no error of its own if another member has an error.
var errElsewhere = errors.New("another rank has failed; its error has the cause")

// agree is a collective operation of all members. It returns nil at all members if all members pass
// the same step and no member passes an error. Otherwise it returns an error at all members. If some
// members pass the loss of a rank, all members get a *PeerError, so that World.Resume runs the
// function again either at all ranks or at no rank. If a rank is lost during agree itself, some members may get an
// error although others get nil.
func agree(c *runtime.Comm, step int, err error) error {
	fault := faultNone
	if err != nil {
		fault = faultOther
	}
	if lost, ok := errors.AsType[*runtime.PeerError](err); ok {
		fault = faultLoss + lost.Rank
	}
	all := make([]int, 3)
	if e := collectives.AllReduce(c, []int{step, -step, fault}, all, collectives.Max); e != nil {
		return errors.Join(err, e)
	}
	switch {
	case all[2] >= faultLoss && fault < faultLoss:
		return errors.Join(err, &runtime.PeerError{Rank: all[2] - faultLoss, Op: "checkpoint", Cause: errElsewhere})
	case err != nil:
		return err
	case all[0] != -all[1]:
		return fmt.Errorf("%w: the ranks passed different steps, from %d to %d", ErrStep, -all[1], all[0])
	case all[2] != faultNone:
		return errElsewhere
	}
	return nil
}
