package checkpoint

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// What a member says of itself in agree: nothing is wrong, it has an error, or, with the number of the
// rank added, it has lost a rank.
const (
	faultNone = iota
	faultOther
	faultLoss
)

// errElsewhere is the error at the members that have none themselves.
var errElsewhere = errors.New("another rank could not store its copy")

// agree returns nil at all members if they call it with the same step, and none with an error. The
// loss of a rank that only some members have noticed is a PeerError at all: World.Resume goes on
// after it everywhere or nowhere.
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
		return fmt.Errorf("%w: the members are between %d and %d", ErrStep, -all[1], all[0])
	case all[2] != faultNone:
		return errElsewhere
	}
	return nil
}
