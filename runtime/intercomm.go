package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/internal/callsite"
)

// Intercomm is a communicator between two groups without a common rank. Its Comm carries the
// messages between the groups. The destination of a send, the source of a receive and the Source of
// a Status are ranks of the other group. Comm.Size is the size of the other group. In package
// collectives, the names of the operations on an Intercomm begin with Inter. Close ends it.
//
// The Comm is exported because messages are sent through it (runtime.Send(t.Comm, ...)). The program
// must not replace the Comm. If it does, or if the Intercomm is nil or the zero value, the methods of
// Intercomm that return an error return ErrComm. When the Comm is closed or broken, so is the Intercomm.
type Intercomm struct {
	*Comm
	// local is a communicator of this rank's group.
	local *Comm
}

// CreateIntercomm connects the group of c with another group, which makes the same call on its own
// communicator. localLeader is the rank in c of this group's leader. bridge is a communicator with
// both leaders as members, and remoteLeader is the rank in bridge of the other group's leader. Only
// the leader uses bridge and remoteLeader. All members of both groups call CreateIntercomm, with
// the same localLeader within a group. The tag (0..TagMax) distinguishes calls of CreateIntercomm
// and of Create that overlap in time on bridge.
//
// The error is ErrRank if localLeader is not in c or, at the leader, if remoteLeader is not in
// bridge. If the groups have a common rank, the error is ErrArgument at all members. A rank gives up
// if remoteLeader is wrong, if the context.Context of its view of c has ended, or if a member is lost.
// Then the call ends in both groups, and breaks the communicator c of each group. If bridge is nil, of the wrong
// kind, closed or broken at the leader, the call ends in the group of this leader in the same way. The other
// group does not learn of this, unless bridge is broken. After a rank has given up, the next call on
// bridge must use another tag. If two goroutines of a rank make calls with the same c at the same
// time, the second call gets ErrInUse.
func (c *Comm) CreateIntercomm(localLeader int, bridge *Comm, remoteLeader, tag int) (*Intercomm, error) {
	broken := c.ready() // ErrCommBroken: a member gave up, and b.giveUp below tells the other group
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
			return nil, c.giveUp("CreateIntercomm", fmt.Errorf("bridge: %w", err))
		}
		if c.ctx != nil {
			bridge = bridge.WithContext(c.ctx)
		}
		b.over, b.acrossTag = bridge, tagCreate+tag
		err := bridge.checkPeer(remoteLeader)
		if err != nil || remoteLeader == bridge.rank { // if equal, this rank is in both groups; all detect that below
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
			err := fmt.Errorf("%w: the other group has world rank %d twice, or it is not below %d", ErrArgument, world, c.core.world.Size())
			return nil, b.giveUp("CreateIntercomm", err)
		}
		if slices.Contains(ranks, world) {
			return nil, callsite.At(fmt.Errorf("%w: world rank %d is in both groups of CreateIntercomm", ErrArgument, world))
		}
	}
	return b.connect("CreateIntercomm", ".inter", c.Dup, intsOf(ranks), intsOf(others))
}

// connect makes an Intercomm. Both groups agree on its number. The function group makes the
// communicator of this rank's group. The argument ranks has the world ranks of this group, and others
// has the world ranks of the other group.
func (b *bridging) connect(op, name string, group func() (*Comm, error), ranks, others []int) (*Intercomm, error) {
	c := b.local
	a := agreement{comm: c, ranks: ranks, rank: c.rank, tag: tagInter, across: b.all}
	number, _, err := a.run()
	if number == 0 {
		return nil, b.giveUp(op, err)
	}
	var local *Comm
	if err == nil {
		local, err = group()
	}
	if err != nil {
		// Other ranks may have made the Intercomm already. A break with its number notifies them.
		failure := c.giveUp(op, err)
		broken := newIntercomm(c, number, c.core.name+name, others, ranks)
		broken.Break(err)
		b.fail(err)
		return nil, errors.Join(failure, broken.Close())
	}
	made := newIntercomm(local, number, c.core.name+name, others, ranks)
	return &Intercomm{made, local}, nil
}

// Err returns nil while the Intercomm can be used. Otherwise it returns ErrCommClosed, a
// BrokenError, or ErrComm for an Intercomm that is nil or the zero value, or whose Comm was
// replaced.
func (t *Intercomm) Err() error {
	if t == nil || t.Comm == nil || t.local == nil || t.core.own != t.local.core {
		return fmt.Errorf("%w: the Intercomm is nil or not as CreateIntercomm or Dup returned it", ErrComm)
	}
	return t.Comm.Err()
}

// intsOf converts words to ints.
func intsOf(words []uint64) []int {
	list := make([]int, len(words))
	for i, v := range words {
		list[i] = int(v)
	}
	return list
}

// bridge returns the bridging of an existing Intercomm: the leaders are the ranks 0 of the two groups, and they
// exchange words through the Intercomm's Comm.
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

// Local returns the communicator of this rank's group, or nil if t is nil. It belongs to the
// Intercomm and is closed with it.
func (t *Intercomm) Local() *Comm {
	if t == nil {
		return nil
	}
	return t.local
}

// RemoteSize returns the number of ranks of the other group, or 0 if Err returns ErrComm.
func (t *Intercomm) RemoteSize() int {
	if errors.Is(t.Err(), ErrComm) {
		return 0
	}
	return t.size
}

// RemoteGroup returns the other group, or an empty group if Err returns ErrComm.
func (t *Intercomm) RemoteGroup() Group {
	if errors.Is(t.Err(), ErrComm) {
		return Group{}
	}
	return t.Group()
}

// Close closes the Comm of the Intercomm and its Local, as Comm.Close does.
func (t *Intercomm) Close() error {
	if err := t.Err(); errors.Is(err, ErrComm) {
		return callsite.At(err)
	}
	return errors.Join(t.Comm.Close(), t.local.Close())
}

// Dup returns an Intercomm of the same groups with a message space of its own. All members of
// both groups call it.
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

// Merge returns a communicator of both groups. All members of both groups call it. If one group
// passes high = true and the other group passes high = false, the members of the group with true get
// the higher ranks. If both groups pass the same value, the group with the lowest world rank gets the
// lower ranks. If the members of one group pass different values, all members of both groups get
// ErrArgument.
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
			return nil, callsite.At(fmt.Errorf("%w: ranks of one group pass different values of high to Merge", ErrArgument))
		}
	}
	a := agreement{comm: c, ranks: ranks, rank: c.rank, tag: tagInter, across: b.all}
	number, _, err := a.run()
	if number == 0 {
		return nil, b.giveUp("Merge", err)
	}
	if err != nil {
		b.fail(fmt.Errorf("Merge: %w", err))
	}
	first := slices.Min(ranks) < slices.Min(others)
	if mine[0] != theirs[0] {
		first = !high
	}
	union, rank := append(slices.Clone(ranks), others...), c.rank
	if !first {
		union, rank = append(slices.Clone(others), ranks...), len(others)+c.rank
	}
	return c.made("Merge", newComm(c.core.world, number, t.core.name+".merge", union, rank), err)
}

// wordOf returns 1 for true and 0 for false.
func wordOf(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
