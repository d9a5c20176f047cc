package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// Dup returns a communicator of the same group and the same topology (see Neighbors) with a message
// space of its own. All members call it. The end of the context.Context of c ends the call, but this
// context.Context does not apply to the new communicator. The same holds for Split and Create.
func (c *Comm) Dup() (*Comm, error) {
	if err := c.ready(); err != nil {
		return nil, callsite.At(err)
	}
	a := agreement{comm: c, ranks: c.members(), rank: c.rank, tag: tagDup}
	number, _, err := a.run()
	if number == 0 {
		return nil, c.giveUp("Dup", err)
	}
	return c.made("Dup", c.arrange(number, ".dup", identityOrder(c.size), c.core.topology), err)
}

// Split splits the communicator. All members call it. The members that pass the same color become
// one new communicator. They are in the order of their keys and, if keys are equal, in the order of
// their ranks in c. A member that passes the color Undefined gets nil. If a member passes another
// negative color, every member gets ErrArgument.
func (c *Comm) Split(color, key int) (*Comm, error) {
	if err := c.ready(); err != nil {
		return nil, callsite.At(err)
	}
	return c.split("Split", color, key, byColor, fmt.Sprintf(".split(%d)", color))
}

// byColor is the value that Split passes to split for the argument what. No valid or invalid Sharing of a program is
// likely to have this value.
const byColor Sharing = math.MinInt

// split implements Split and SplitType. The argument op is the name of the calling method. The argument what names the
// resource by which the members are split, or is byColor. All members whose color is not Undefined must pass the same
// value for what.
// The argument name is appended to the name of c.
func (c *Comm) split(op string, color, key int, what Sharing, name string) (*Comm, error) {
	const width = 3 // words per rank
	a := agreement{comm: c, ranks: c.members(), rank: c.rank, tag: tagSplit}
	number, all, err := a.run(uint64(color), uint64(key), uint64(what))
	if number == 0 {
		return nil, c.giveUp(op, err)
	}
	colorOf := func(rank int) int { return int(all[width*rank]) }
	keyOf := func(rank int) int { return int(all[width*rank+1]) }
	if wrong := checkColors(all, width); err == nil && wrong != nil {
		c.core.world.comms.release(number)
		return nil, callsite.At(wrong)
	}
	if color == Undefined {
		c.core.world.comms.release(number)
		return c.made(op, nil, err)
	}
	var ranks []int
	mine := 0
	for _, rank := range sortedBy(c.size, func(a, b int) int { return cmp.Compare(keyOf(a), keyOf(b)) }) {
		if rank == c.rank {
			mine = len(ranks)
		}
		if colorOf(rank) == color {
			ranks = append(ranks, a.ranks[rank])
		}
	}
	return c.made(op, newComm(c.core.world, number, c.core.name+name, ranks, mine), err)
}

// checkColors returns ErrArgument if a member has passed a negative color other than Undefined, or if
// members have passed different values for the argument what of split. Members with the color Undefined
// may pass any value for what. The color of a member that passed an invalid value to SplitType is
// negative. all has the words of all members, width words of each.
func checkColors(all []uint64, width int) error {
	first := Sharing(Undefined)
	for at := 0; at < len(all); at += width {
		color, what := int(all[at]), Sharing(all[at+2])
		switch {
		case color == Undefined:
		case color < 0 && what != byColor:
			return fmt.Errorf("%w: SplitType by %v of rank %d", ErrArgument, what, at/width)
		case color < 0:
			return fmt.Errorf("%w: color %d of rank %d", ErrArgument, color, at/width)
		case first == Undefined:
			first = what
		case what != first:
			return fmt.Errorf("%w: rank %d splits by %v, but a lower rank by %v", ErrArgument, at/width, what, first)
		}
	}
	return nil
}

// Create returns a communicator of the members of g, in the order of g. Only the members of g call it,
// all with the same group and tag. The tag (0..TagMax) distinguishes calls that overlap in time. The
// error is ErrRank if the caller is not in g or a member of g is not in c.
func (c *Comm) Create(g Group, tag int) (*Comm, error) {
	if err := c.ready(); err != nil {
		return nil, callsite.At(err)
	}
	if err := checkTag(tag); err != nil {
		return nil, callsite.At(err)
	}
	rank := g.Rank(c.core.world.Rank())
	if rank == Undefined {
		return nil, callsite.At(fmt.Errorf("%w: the caller is not in the group", ErrRank))
	}
	for _, world := range g.ranks {
		if !c.core.has(world) {
			return nil, callsite.At(fmt.Errorf("%w: world rank %d is not in %s", ErrRank, world, c.core.name))
		}
	}
	a := agreement{comm: c, ranks: g.ranks, rank: rank, tag: tagCreate + tag}
	number, _, err := a.run()
	if number == 0 {
		return nil, c.giveUp("Create", err)
	}
	return c.made("Create", newComm(c.core.world, number, c.core.name+".create", g.ranks, rank), err)
}

// Tags of agreements in the control context. The engine's largest tag is 1<<31-1, about
// twice the user's TagMax. So tagCreate plus a tag of the user is a valid tag of the engine.
const (
	tagDup = iota
	tagSplit
	tagCart
	tagGraph
	tagInter
	tagVote   // Agree and Shrink, which send no messages with this tag
	tagCreate // the lowest of the tags of Create and CreateIntercomm: each call adds its own tag
)

// giveUp breaks the communicator after the collective operation op has failed with err, and returns
// the error for the caller.
func (c *Comm) giveUp(op string, err error) error {
	c.Break(fmt.Errorf("%s: %w", op, err))
	if _, ok := errors.AsType[*PeerError](err); ok {
		err = lossBesides(err, c.Err())
	}
	return callsite.At(fmt.Errorf("%s on %s: %w", op, c.core.name, err))
}

// made returns the communicator that the collective operation op has made, if err is nil. Otherwise op has failed at
// this rank after other members may have made the communicator. These members must not wait for this rank: made
// breaks the communicator and closes it, and does what giveUp does. If this rank is not a member, communicator is nil.
func (c *Comm) made(op string, communicator *Comm, err error) (*Comm, error) {
	if err == nil {
		return communicator, nil
	}
	if communicator != nil {
		communicator.Break(fmt.Errorf("%s: %w", op, err))
		_ = communicator.Close() // this rank has just made it
	}
	return nil, c.giveUp(op, err)
}

// control returns the engine's address of a world rank in the control context of c.
func (c *Comm) control(world, tag int) engine.Match {
	return engine.Match{Context: c.core.number*contextStride + contextControl, Peer: world, Tag: tag}
}
