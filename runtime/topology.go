package runtime

import (
	"fmt"
	"hash/fnv"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// topology describes the neighbors of the ranks of a communicator.
type topology interface {
	// around returns the ranks from which a rank receives and the ranks to which it sends.
	around(rank int) (sources, dests []int)
	// order returns the order that Comm.SendOrder returns.
	order() []int
}

// Neighbors returns the neighbors for the neighborhood operations of package collectives, in the
// order of the blocks of their buffers. This rank receives data from the sources and sends data to
// the dests. In a Cart, the neighbors are for each dimension the previous and the next rank, or
// ProcNull beyond a border. In a Graph, they are the neighbors with which the Graph was made. The
// caller owns the slices. If the communicator is neither a Cart nor a Graph nor a duplicate of one, the
// error is ErrTopology.
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

// arrange makes a communicator of some ranks of c: order[i] is the rank in c of the member with the
// new rank i. If the slice order does not contain the caller, arrange releases the number and returns
// nil.
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

// agreeOn runs an agreement of all members on a number. The arguments must be equal at all members;
// otherwise every member gets ErrArgument. The result all has the words of all members in the order of
// their ranks. The argument op is the name of the operation for errors. If an error comes with a number that is not
// 0, the caller makes the communicator and passes the error to Comm.made (see agreement.run).
func (c *Comm) agreeOn(op string, tag int, arguments any, words ...uint64) (number uint32, all []uint64, err error) {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, arguments) // writing to a hash never fails
	a := agreement{comm: c, ranks: c.members(), rank: c.rank, tag: tag}
	number, got, err := a.run(append([]uint64{h.Sum64()}, words...)...)
	if number == 0 {
		return 0, nil, c.giveUp(op, err)
	}
	width := 1 + len(words)
	for rank := range c.size {
		if err == nil && got[rank*width] != got[0] {
			c.core.world.comms.release(number)
			return 0, nil, callsite.At(fmt.Errorf("%w: %s: rank %d gives other arguments than rank 0", ErrArgument, op, rank))
		}
		all = append(all, got[rank*width+1:][:len(words)]...)
	}
	return number, all, err
}
