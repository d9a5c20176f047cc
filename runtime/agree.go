package runtime

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/transport"
)

// ErrRevoked is the cause of a Revoke without another one.
var ErrRevoked = errors.New("revoked")

// Failed returns the members that are lost as far as this rank knows, as world ranks in the order
// in which it learned of them: their process has ended, or they cannot be reached any more. epoch
// is how many ranks of the job have ended according to the launcher, which tells all ranks in the
// same order: of two ranks, the one with the higher epoch knows all that the other one knows from
// the launcher. No call is needed elsewhere. In an Intercomm the members are those of both groups.
func (c *Comm) Failed() (lost Group, epoch int) {
	if c == nil {
		return Group{}, 0
	}
	ranks, epoch := c.core.world.deaths.all()
	return Group{slices.DeleteFunc(ranks, func(rank int) bool { return !c.core.has(rank) })}, epoch
}

// Ack acknowledges the losses that Failed returns, and returns them. Receives and probes from
// AnySource that find no message end with a PeerError as long as the loss of a member is not
// acknowledged, because its message may be the one that they wait for; afterwards they wait for
// the other members. An Agree has an error unless all its callers have acknowledged the
// losses. What names a lost rank goes on to end with a PeerError. Ack is local; it applies to all
// views and to the Private twin.
func (c *Comm) Ack() Group {
	lost, _ := c.Failed()
	if len(lost.ranks) == 0 {
		return lost
	}
	c.core.mourning.acknowledge(lost.ranks)
	for i := range uint32(contextStride) {
		c.engine.Acknowledge(c.core.number*contextStride+i, lost.ranks)
	}
	return lost
}

// Agree returns the bitwise and of the flags of all members that took part: the same result at
// every one, whatever fails meanwhile. It also works on a communicator that is broken or revoked.
// The members call it, and Shrink, in the same order; it waits until each one has called it or
// has ended. The flags of one that has ended after its call count.
//
// If a member has ended whose loss not every caller had acknowledged with Ack, the error is the
// PeerError of the first such one, at every caller, and the result is valid all the same. A Revoke
// that any member has called before is known here after it. Other
// errors are those of this rank alone: the context of the view or the job has ended, or the
// communicator was closed.
//
// The launcher decides, see package bootstrap; a message in c is not needed.
func (c *Comm) Agree(flags uint64) (uint64, error) {
	d, err := c.decide("Agree", bootstrap.Vote{Purpose: bootstrap.PurposeFlags, Flags: flags})
	if err != nil {
		return 0, callsite.At(err)
	}
	if d.Lost >= 0 {
		down := &transport.PeerDown{Peer: d.Lost, Cause: c.core.world.deaths.of(d.Lost)}
		return d.Flags, callsite.At(&PeerError{Rank: d.Lost, Op: "Agree", Cause: down})
	}
	return d.Flags, nil
}

// Shrink returns a communicator of the members that live, in the order of their ranks in c. It
// also works, and is mostly used, on a communicator that is broken or revoked. All members that
// live call it, in the same order as Agree; it waits until each one has called it or has
// ended. All get the same members: those that had not ended when the launcher had the last call. A
// member that ends later is one of the new communicator. An Intercomm is ErrComm.
//
// A rank that cannot be reached any more but has not ended is a member, too.
func (c *Comm) Shrink() (*Comm, error) {
	if c != nil && c.core.allies != nil {
		return nil, callsite.At(fmt.Errorf("%w: %s connects two groups", ErrComm, c.core.name))
	}
	d, err := c.decide("Shrink", bootstrap.Vote{Purpose: bootstrap.PurposeShrink})
	if err != nil {
		return nil, callsite.At(err)
	}
	w := c.core.world
	living := slices.DeleteFunc(c.Group().Ranks(), func(rank int) bool {
		_, dead := slices.BinarySearch(d.Dead, rank)
		return dead
	})
	rank := slices.Index(living, w.Rank())
	if rank < 0 { // the launcher has lost this rank, which is about to be ended
		w.comms.release(d.Number)
		return nil, callsite.At(fmt.Errorf("Shrink on %s: %w", c.core.name, ErrAborted))
	}
	return newComm(w, d.Number, c.core.name+".shrink", living, rank), nil
}

// Revoke ends the use of the communicator by all members: operations on it, those under way
// included, end with an error that is ErrCommBroken and cause, here at once and elsewhere as soon
// as the notice arrives, which the launcher passes on even if this rank ends. nil stands for
// ErrRevoked. Members that wait for one that has given up need it. Agree, Shrink, Ack, Failed and
// Close still work.
func (c *Comm) Revoke(cause error) {
	if cause == nil {
		cause = ErrRevoked
	}
	c.Break(cause)
}

// IsRevoked reports whether a member has revoked or broken the communicator, as far as this rank
// knows.
func (c *Comm) IsRevoked() bool { return c != nil && c.Broken() }

// decide asks the launcher to decide an agreement, and waits for the decision.
func (c *Comm) decide(op string, v bootstrap.Vote) (*bootstrap.Decision, error) {
	if err := c.Err(); err != nil && !errors.Is(err, ErrCommBroken) {
		return nil, err
	}
	w := c.core.world
	if err := c.core.agreeing.enter(tagVote); err != nil {
		return nil, err
	}
	defer c.core.agreeing.leave(tagVote)
	v.Generation, v.Comm, v.Members = w.job.Generation, c.core.identity, c.core.all()
	slices.Sort(v.Members)
	v.Round, v.Acknowledged = c.core.mourning.begin()
	r := w.rulings.await(v)
	err := w.council.Vote(v)
	if err == nil {
		over := func() bool { return r.done.Load() || c.core.closed() }
		err = w.engine.Await(c.ctx, over, 0, op+" on "+c.core.name)
	}
	w.rulings.drop(v)
	if err == nil && !r.done.Load() {
		err = ErrCommClosed // by another goroutine
	}
	if err != nil {
		if r.decision != nil && r.decision.Number != 0 {
			w.comms.abandon(r.decision.Number)
		}
		return nil, fmt.Errorf("%s on %s: %w", op, c.core.name, err)
	}
	w.revocations.settle(v.Comm)
	if r.decision.Purpose != v.Purpose {
		return nil, fmt.Errorf("%w: %s on %s: other members call another operation", ErrArgument, op, c.core.name)
	}
	return r.decision, nil
}

// rulings are the agreements that goroutines of a rank wait for.
type rulings struct {
	mu      sync.Mutex // guards waiting
	waiting map[rulingKey]*ruling
}

// rulingKey names an agreement.
type rulingKey struct {
	comm  uint64
	round uint32
}

// ruling is one of them.
type ruling struct {
	done     atomic.Bool // decision is set
	decision *bootstrap.Decision
}

// await adds the agreement of a vote.
func (s *rulings) await(v bootstrap.Vote) *ruling {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = make(map[rulingKey]*ruling)
	}
	r := &ruling{}
	s.waiting[rulingKey{v.Comm, v.Round}] = r
	return r
}

// drop removes it.
func (s *rulings) drop(v bootstrap.Vote) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, rulingKey{v.Comm, v.Round})
}

// decided takes a decision. One that no goroutine waits for is of other ranks, or its wait has
// ended with a context.
func (w *World) decided(d *bootstrap.Decision) {
	w.rulings.mu.Lock()
	defer w.rulings.mu.Unlock()
	r := w.rulings.waiting[rulingKey{d.Comm, d.Round}]
	if r == nil || r.done.Load() {
		return
	}
	if d.Number != 0 {
		w.comms.claim(d.Number)
		w.comms.stamp(d.Number, uint64(d.Number)|shrunkSerial)
	}
	r.decision = d
	r.done.Store(true)
	w.wake()
}

// shrunkSerial keeps the serial numbers of communicators of Shrink apart from those of
// agreements.
const shrunkSerial = 1 << 63

// identityOf is the identity of a communicator: a hash of the serial number of the agreement
// that has made it and of the members.
func identityOf(serial uint64, members []int) uint64 {
	members = slices.Sorted(slices.Values(members))
	h := uint64(identityBasis) ^ serial
	for _, rank := range members {
		h = (h ^ h>>identityShift ^ uint64(rank)) * episodePrime
	}
	return h | 1 // not 0
}

// identityBasis is that of FNV-1a, identityShift brings the high bits of its product down.
const (
	identityBasis = 0xcbf29ce484222325
	identityShift = 29
)
