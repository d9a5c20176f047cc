package runtime

import (
	"fmt"
	"hash/fnv"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// topology says who the neighbors of a rank are.
type topology interface {
	// around returns the ranks that a rank receives from and those that it sends to.
	around(rank int) (sources, dests []int)
	// order is that of Comm.SendOrder.
	order() []int
}

// Neighbors returns the ranks from which and to which the neighborhood operations of package
// collectives move data, in the order of the blocks of their buffers: in a Cart, for each
// dimension the previous and the next rank, ProcNull beyond a border; in a Graph, the
// neighbors with which it was made. The slices are the caller's. It is ErrTopology if the
// communicator is neither.
func (c *Comm) Neighbors() (sources, dests []int, err error) {
	if c == nil {
		return nil, nil, callsite.At(ErrComm)
	}
	if c.core.topology == nil {
		return nil, nil, callsite.At(fmt.Errorf("%w: %s", ErrTopology, c.core.name))
	}
	sources, dests = c.core.topology.around(c.rank)
	return sources, dests, nil
}

// arrange makes a communicator of the ranks of c, in the order of their new ranks. A caller
// that is not among them gets nil.
func (c *Comm) arrange(number uint32, name string, order []int, t topology) *Comm {
	ranks, mine := make([]int, len(order)), Undefined
	for i, rank := range order {
		if ranks[i] = c.WorldRank(rank); rank == c.rank {
			mine = i
		}
	}
	if mine == Undefined {
		c.core.world.comms.release(number)
		return nil
	}
	made := newComm(c.core.world, number, c.core.name+name, ranks, mine)
	made.core.topology = t
	return made
}

// agreeOn is an agreement of all members on a number and on arguments, which have to be equal
// everywhere: else it is ErrArgument at every member. It returns the further words of all.
func (c *Comm) agreeOn(op string, tag int, arguments any, words ...uint64) (number uint32, all []uint64, err error) {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, arguments) // a hash takes everything
	a := agreement{comm: c, ranks: c.members(), rank: c.rank, tag: tag}
	number, got, err := a.run(append([]uint64{h.Sum64()}, words...)...)
	if err != nil {
		return 0, nil, c.giveUp(op, err)
	}
	width := 1 + len(words)
	for rank := range c.size {
		if got[rank*width] != got[0] {
			c.core.world.comms.release(number)
			return 0, nil, callsite.At(fmt.Errorf("%w: %s: rank %d gives other arguments than rank 0", ErrArgument, op, rank))
		}
		all = append(all, got[rank*width+1:][:len(words)]...)
	}
	return number, all, nil
}
