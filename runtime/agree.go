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

// ErrRevoked is the cause of a revocation or a break if Revoke or Break was called with a nil cause.
var ErrRevoked = errors.New("revoked")

// Failed returns the members of the communicator that this rank knows to be lost: the processes of
// these members have ended, or this rank cannot communicate with them any more. The result lost has
// their world ranks, in the order in which this rank learned of the losses. In an Intercomm, lost
// contains members of both groups.
//
// The result epoch is the number of ranks of the job whose end the launcher has reported to this rank.
// The launcher reports the ends to all ranks in the same order. Hence a rank with a higher epoch knows
// every end that the launcher has reported to a rank with a lower epoch. Failed is local: no other
// member has to call it.
func (c *Comm) Failed() (lost Group, epoch int) {
	if c == nil {
		return Group{}, 0
	}
	ranks, epoch := c.core.world.deaths.all()
	return Group{slices.DeleteFunc(ranks, func(rank int) bool { return !c.core.has(rank) })}, epoch
}

// Ack acknowledges the losses that Failed returns, and returns the lost members. While the loss of a
// member is not acknowledged, a receive or probe from AnySource that finds no message ends with a
// PeerError. The reason is that the lost member may be the sender for which the receive or probe
// waits. After Ack, a receive or probe from AnySource waits for the other members. If a caller of
// Agree has not acknowledged all losses, Agree returns an error at every caller. An operation that
// names a lost rank still ends with a PeerError. Ack is local. It applies to all views of the
// communicator, including its Private twin.
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

// Agree returns the bitwise AND of the flags of all members that took part. Every member gets the
// same result, even if members fail meanwhile. Agree also works on a communicator that is broken or
// revoked. All members make their calls of Agree and Shrink in the same order. The call waits until
// each member has called Agree or has ended. If a member ends after its call, its flags still count.
//
// If a member has ended and a caller has not acknowledged this loss with Ack, every caller gets the
// result together with a PeerError. The result is valid. If several such members have ended, the
// PeerError names the member that ended first. If a member called Revoke before Agree, this rank knows
// of the revocation when Agree returns. If some members call Shrink in place of Agree, every caller gets
// ErrArgument. Any other error is returned at this rank only. Its cause is, for example, an Agree or Shrink of
// another goroutine of this rank (ErrInUse), the end of the view's context.Context, the end of the job, or a
// call of Close.
//
// The launcher computes the result, see package bootstrap. Agree sends no message in c.
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

// Shrink returns a communicator of the members that live, in the order of their ranks in c. It also
// works on a communicator that is broken or revoked, which is its main use. All members that live
// call it. All members make their calls of Shrink and Agree in the same order. The call waits until
// each member has called it or has ended. All callers get the same members: the members that had not
// ended when the launcher decided, that is, when each member had called Shrink or had ended. A member that
// ends later is still a member of the new communicator. Shrink of an Intercomm returns ErrComm.
//
// A rank that cannot be reached any more but has not ended is a member of the new communicator,
// too.
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
	if rank < 0 { // the launcher has lost this rank and is about to end it
		w.comms.release(d.Number)
		return nil, callsite.At(fmt.Errorf("Shrink on %s: %w", c.core.name, ErrAborted))
	}
	return newComm(w, d.Number, c.core.name+".shrink", living, rank), nil
}

// Revoke ends the use of the communicator by all members: every operation on it ends with an error
// in which errors.Is finds ErrCommBroken and, at this rank, cause. The other members get the text
// of cause (see Break) and, if cause is a PeerError, a PeerError, too. Operations under way that
// are not matched yet also end: at this rank at once, and at another member when the notice of the
// revocation arrives. The launcher forwards the notice even if this rank ends. A nil cause stands
// for ErrRevoked. A member that gives up an operation calls Revoke if other members may wait for
// this member. Agree, Shrink, Ack, Failed and Close still work afterwards.
func (c *Comm) Revoke(cause error) { c.Break(cause) }

// IsRevoked reports whether a member has revoked or broken the communicator, as far as this rank
// knows. Like Broken, it is also true after the World has ended with the loss of a rank.
func (c *Comm) IsRevoked() bool { return c.Broken() }

// decide sends this rank's vote to the launcher and waits for the decision.
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
		err = w.engine.Await(c.ctx, over, op+" on "+c.core.name)
	}
	w.rulings.drop(v)
	if err == nil && !r.done.Load() {
		err = ErrCommClosed // another goroutine has closed the communicator
	}
	if err != nil {
		if r.decision != nil && r.decision.Number != 0 {
			w.comms.abandon(r.decision.Number)
		}
		return nil, fmt.Errorf("%s on %s: %w", op, c.core.name, err)
	}
	w.revocations.settle(v.Comm)
	if r.decision.Purpose != v.Purpose {
		return nil, fmt.Errorf("%w: %s on %s: some members call Agree and others Shrink", ErrArgument, op, c.core.name)
	}
	return r.decision, nil
}

// rulings holds the undecided agreements of a rank. For each agreement, a goroutine waits for the
// decision.
type rulings struct {
	mu      sync.Mutex // guards waiting
	waiting map[rulingKey]*ruling
}

// rulingKey names an agreement.
type rulingKey struct {
	comm  uint64
	round uint32
}

// ruling is one agreement and its decision, for which a goroutine waits.
type ruling struct {
	done     atomic.Bool // true once decision is set
	decision *bootstrap.Decision
}

// await records that a goroutine waits for the decision on the agreement of v.
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

// drop removes the agreement of v.
func (s *rulings) drop(v bootstrap.Vote) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, rulingKey{v.Comm, v.Round})
}

// decided passes a decision to the goroutine that waits for it. If no goroutine waits for the
// decision, decided discards the decision. No goroutine waits if this rank takes no part in the
// agreement, or if its wait has ended with an error.
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

// shrunkSerial is the bit that is set in the serial number of a communicator made by Shrink, so
// that this serial number differs from those of all agreements among ranks.
const shrunkSerial = 1 << 63

// identityOf returns the identity of a communicator: a hash of its members and of the serial number
// of the agreement that made it.
func identityOf(serial uint64, members []int) uint64 {
	members = slices.Sorted(slices.Values(members))
	h := uint64(identityBasis) ^ serial
	for _, rank := range members {
		h = (h ^ h>>identityShift ^ uint64(rank)) * episodePrime
	}
	return h | 1 // not 0
}

// identityBasis is the offset basis of FNV-1a. Before each multiplication, the hash is XORed with the hash
// shifted right by identityShift bits.
const (
	identityBasis = 0xcbf29ce484222325
	identityShift = 29
)
