package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Intercomm is a communicator between two groups without a common rank. Its Comm is for
// messages between them: the destination of a send, the source of a receive and that in a
// Status are ranks of the other group, and Comm.Size is the size of that. Package collectives
// has operations for it, whose names begin with Inter. Close ends it.
//
// The Comm is exported because messages are sent through it (runtime.Send(t.Comm, ...)); it is not
// to be replaced: an Intercomm whose Comm is another one is ErrComm, and so are a nil one and the
// zero value. The Comm shares its end with the Intercomm.
type Intercomm struct {
	*Comm
	// local is a communicator of this rank's group.
	local *Comm
}

// CreateIntercomm connects the group of c with another one that makes the same call on its
// own communicator. The leaders, localLeader of c and remoteLeader of the other group's, are
// members of bridge, in which remoteLeader is the rank of the other group's leader. At other
// ranks than the leader, bridge and remoteLeader are not used. All members of both groups call
// it, with the same leader in each group; the tag (0..TagMax) keeps calls apart that overlap
// in time, of Create on bridge, too.
//
// A leader that is not in its communicator is ErrRank, and so is, at the leader, a remoteLeader
// that is not in bridge; groups with a common rank are ErrArgument at all
// members. A rank that gives up, for these ranks, because its context ended or a member was
// lost, ends the call of both groups, whose communicators c are broken; the next call on bridge
// takes another tag then. Two goroutines of a rank in it with one c are ErrInUse.
func (c *Comm) CreateIntercomm(localLeader int, bridge *Comm, remoteLeader, tag int) (*Intercomm, error) {
	broken := c.ready() // by a member that gave up: then the other group is told
	if broken != nil && !errors.Is(broken, ErrCommBroken) {
		return nil, callsite.At(broken)
	}
	if err := errors.Join(c.checkPeer(localLeader), checkTag(tag)); err != nil {
		return nil, callsite.At(err)
	}
	if err := c.core.agreeing.enter(wholeInter); err != nil {
		return nil, callsite.At(err)
	}
	defer c.core.agreeing.leave(wholeInter)
	b := &bridging{local: c, leader: localLeader, over: c, tag: tagInter}
	if c.rank == localLeader {
		if err := bridge.ready(); err != nil {
			err = fmt.Errorf("bridge: %w", err)
			if errors.Is(err, ErrCommBroken) { // a loss, not a mistake: the group waits for its leader
				return nil, c.giveUp("CreateIntercomm", err)
			}
			return nil, callsite.At(err)
		}
		if c.ctx != nil {
			bridge = bridge.WithContext(c.ctx)
		}
		b.over, b.acrossTag = bridge, tagCreate+tag
		err := bridge.checkPeer(remoteLeader)
		if err != nil || remoteLeader == bridge.rank { // that is in both groups, as all members here find
			b.failAll()
		}
		if err != nil {
			return nil, c.giveUp("CreateIntercomm", fmt.Errorf("remote leader: %w", err))
		}
		b.peer = bridge.WorldRank(remoteLeader)
	}
	if broken != nil {
		return nil, b.giveUp("CreateIntercomm", broken)
	}
	ranks, others, err := b.exchange([]uint64{uint64(c.core.world.Rank())})
	if err != nil {
		return nil, b.giveUp("CreateIntercomm", err)
	}
	for i, world := range others {
		if world >= uint64(c.core.world.Size()) || slices.Contains(others[:i], world) {
			err := fmt.Errorf("%w: the other group has world rank %d, of %d, twice or in error", ErrArgument, world, c.core.world.Size())
			return nil, b.giveUp("CreateIntercomm", err)
		}
		if slices.Contains(ranks, world) {
			return nil, callsite.At(fmt.Errorf("%w: world rank %d is in both groups of CreateIntercomm", ErrArgument, world))
		}
	}
	return b.connect("CreateIntercomm", ".inter", c.Dup, intsOf(ranks), intsOf(others))
}

// Comms of an Intercomm are made by agreement of both groups.
func (b *bridging) connect(op, name string, group func() (*Comm, error), ranks, others []int) (*Intercomm, error) {
	c := b.local
	a := agreement{comm: c, ranks: ranks, rank: c.rank, tag: tagInter, across: b.all}
	number, _, err := a.run()
	if err != nil {
		return nil, b.giveUp(op, err)
	}
	local, err := group()
	if err != nil {
		// Ranks of the other group may have the Intercomm: they are told by its number.
		broken := newIntercomm(c, number, c.core.name+name, others, ranks)
		broken.Break(err)
		b.fail(err)
		return nil, errors.Join(err, broken.Close())
	}
	made := newIntercomm(local, number, c.core.name+name, others, ranks)
	return &Intercomm{made, local}, nil
}

// Err returns nil while the Intercomm can be used, else ErrCommClosed, a BrokenError, or ErrComm for
// a nil one.
func (t *Intercomm) Err() error {
	if t == nil || t.Comm == nil || t.local == nil || t.core.own != t.local.core {
		return fmt.Errorf("%w: no Intercomm of CreateIntercomm or Dup", ErrComm)
	}
	return t.Comm.Err()
}

// intsOf converts words.
func intsOf(words []uint64) []int {
	list := make([]int, len(words))
	for i, v := range words {
		list[i] = int(v)
	}
	return list
}

// bridge is an Intercomm's own.
func (t *Intercomm) bridge() *bridging {
	b := &bridging{local: t.local, over: t.Comm, tag: tagInter, acrossTag: tagInter, spans: t.Comm}
	if t.local.rank == 0 {
		b.peer = t.WorldRank(0)
	}
	return b
}

// WithContext returns a view as Comm.WithContext does.
func (t *Intercomm) WithContext(ctx context.Context) *Intercomm {
	if errors.Is(t.Err(), ErrComm) {
		return t
	}
	return &Intercomm{t.Comm.WithContext(ctx), t.local.WithContext(ctx)}
}

// Local returns the communicator of this rank's group that belongs to the Intercomm and is
// closed with it, nil if t is nil.
func (t *Intercomm) Local() *Comm {
	if t == nil {
		return nil
	}
	return t.local
}

// RemoteSize returns the number of ranks of the other group, 0 if t is nil.
func (t *Intercomm) RemoteSize() int {
	if errors.Is(t.Err(), ErrComm) {
		return 0
	}
	return t.size
}

// RemoteGroup returns the other group, an empty one if t is nil.
func (t *Intercomm) RemoteGroup() Group {
	if errors.Is(t.Err(), ErrComm) {
		return Group{}
	}
	return t.Group()
}

// Close ends the Intercomm and its Local as Comm.Close does.
func (t *Intercomm) Close() error {
	if err := t.Err(); errors.Is(err, ErrComm) {
		return callsite.At(err)
	}
	return errors.Join(t.Comm.Close(), t.local.Close())
}

// Dup returns an Intercomm of the same groups with messages of its own. All members of both
// groups call it.
func (t *Intercomm) Dup() (*Intercomm, error) {
	if err := t.Err(); err != nil {
		return nil, callsite.At(err)
	}
	if err := t.local.core.agreeing.enter(wholeInter); err != nil {
		return nil, callsite.At(err)
	}
	defer t.local.core.agreeing.leave(wholeInter)
	return t.bridge().connect("Dup", ".dup", t.local.Dup, t.local.members(), t.members())
}

// Merge returns a communicator of both groups. The members of one group give high true and come
// behind those of the other; if both groups give the same, the group with the lowest rank of
// the World comes first. All members of both groups call it. Members of one group that do not
// agree are ErrArgument, at all members.
func (t *Intercomm) Merge(high bool) (*Comm, error) {
	if err := t.Err(); err != nil {
		return nil, callsite.At(err)
	}
	c, b := t.local, t.bridge()
	if err := c.core.agreeing.enter(wholeInter); err != nil {
		return nil, callsite.At(err)
	}
	defer c.core.agreeing.leave(wholeInter)
	ranks, others := c.members(), t.members()
	mine, theirs, err := b.exchange([]uint64{wordOf(high)})
	if err != nil {
		return nil, b.giveUp("Merge", err)
	}
	for _, all := range [][]uint64{mine, theirs} {
		if slices.Min(all) != slices.Max(all) {
			return nil, callsite.At(fmt.Errorf("%w: ranks of one group differ in the high of Merge", ErrArgument))
		}
	}
	a := agreement{comm: c, ranks: ranks, rank: c.rank, tag: tagInter, across: b.all}
	number, _, err := a.run()
	if err != nil {
		return nil, b.giveUp("Merge", err)
	}
	first := slices.Min(ranks) < slices.Min(others)
	if mine[0] != theirs[0] {
		first = !high
	}
	union, rank := append(slices.Clone(ranks), others...), c.rank
	if !first {
		union, rank = append(slices.Clone(others), ranks...), len(others)+c.rank
	}
	return newComm(c.core.world, number, t.core.name+".merge", union, rank), nil
}

// wordOf is 1 for true.
func wordOf(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
