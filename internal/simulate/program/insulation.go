package program

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/simulate"
	"github.com/gorun-hpc/gorun/runtime"
)

// Insulation is a program with messages and reductions in two communicators without a common member. If a
// rank dies, operations in the communicator to which it does not belong must not fail.
func Insulation() simulate.Program {
	return simulate.Program{Name: "insulation", Ranks: []int{3, 4, 6}, Mortal: true, Main: insulation}
}

// streamInsulation is the number of a stream of random numbers that is the same at all ranks.
const streamInsulation = 17000

func insulation(r simulate.Rank) error {
	lost := newLosses(r.Conditions)
	half, err := r.Comm().Split(r.Rank()%2, 0)
	if err != nil { // a rank died before both communicators were made
		r.Comm().Revoke(err)
		return lost.unexpectedEnd(err)
	}
	err = insulated(half, simulate.Pick(r.Random(streamInsulation), 5, 20, 60))
	if err != nil && lost.mortal && slices.Contains(half.Group().Ranks(), lost.rank) {
		half.Revoke(err)
		if errors.Is(err, runtime.ErrCommBroken) {
			return nil
		}
		return lost.unexpected(err)
	}
	return err
}

// insulated executes the steps in a communicator. In each step, it sends messages around the ring of members,
// and computes the sum of the received values.
func insulated(c *runtime.Comm, steps int) error {
	n, got, sum := c.Size(), []int{0}, []int{0}
	for step := range steps {
		from := (c.Rank() + n - 1) % n
		if _, err := runtime.SendRecv(c, []int{step*100 + c.Rank()}, (c.Rank()+1)%n, step, got, from, step); err != nil {
			return err
		}
		if err := collectives.AllReduce(c, got, sum, collectives.Sum); err != nil {
			return err
		}
		if want := n*step*100 + n*(n-1)/2; got[0] != step*100+from || sum[0] != want {
			return fmt.Errorf("step %d: received %d, sum %d in place of %d", step, got[0], sum[0], want)
		}
	}
	return nil
}
