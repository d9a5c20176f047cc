package actors

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// fencedFuture replaces a future of protoactor in the process registry. It lets only one event end the
// future: either the first answer or the timeout. A protoactor future stores an answer without
// holding its lock. So an answer that arrives at the same time as the timeout or another answer could
// race with the goroutine that reads the result (protoactor's issue 1145). That goroutine could get
// the answer together with the timeout error, or half of a value.
//
// The replacement happens before a request is put into a mailbox of this package or leaves the rank,
// so that no answer can arrive earlier. If a request goes to an actor of this rank that does not exist, and does
// not wait for this actor (pendingProcess), it is answered before RequestFuture returns. Such a request needs no
// fencedFuture.
type fencedFuture struct {
	s      *System
	future actor.Process
	timer  *time.Timer // nil if the future has no timeout
	ended  atomic.Bool
	// late is true if the future had ended before it was fenced. The lock of the registry table in
	// which the future is entered guards late.
	late bool
}

var _ actor.Process = (*fencedFuture)(nil)

// isFuture reports whether a PID names a future of this rank.
func (s *System) isFuture(pid *actor.PID) bool {
	return pid != nil && len(pid.Id) > len(futurePrefix) && pid.Id[:len(futurePrefix)] == futurePrefix && pid.Address == s.Address()
}

// fence replaces the sender of a request by a fencedFuture in the process registry, if the sender is a
// future of this rank.
func (s *System) fence(sender *actor.PID) {
	if !s.isFuture(sender) {
		return
	}
	process, ok := s.ProcessRegistry.GetLocal(sender.Id)
	if !ok {
		return
	}
	timer, ok := timerOf(process)
	if !ok {
		return
	}
	f := &fencedFuture{s: s, future: process, timer: timer}
	table := s.ProcessRegistry.LocalPIDs.GetBucket(sender.Id)
	if table.Upsert(sender.Id, f, stillThere); f.late {
		table.Remove(sender.Id)
	}
}

// stillThere is the callback of the table's Upsert, called with the lock of the table. It returns the
// new entry. If the table has no entry for the future any more, it sets late.
func stillThere(exists bool, was, fenced any) any {
	if _, already := was.(*fencedFuture); already {
		return was // fence was called before for this future
	}
	fenced.(*fencedFuture).late = !exists
	return fenced
}

// passes reports whether the caller may end the future. It returns false if another caller has ended
// the future. It also returns false if the timer has fired, because then the timeout ends the future.
func (f *fencedFuture) passes() bool {
	return !f.ended.Swap(true) && (f.timer == nil || f.timer.Stop())
}

// SendUserMessage implements actor.Process. It releases the arena memory of an answer that comes too late.
func (f *fencedFuture) SendUserMessage(pid *actor.PID, message any) {
	if f.passes() {
		f.future.SendUserMessage(pid, message)
	} else {
		f.s.discard(actor.UnwrapEnvelopeMessage(message))
	}
}

// SendSystemMessage implements actor.Process.
func (f *fencedFuture) SendSystemMessage(pid *actor.PID, message any) {
	if f.passes() {
		f.future.SendSystemMessage(pid, message)
	}
}

// Stop implements actor.Process.
func (f *fencedFuture) Stop(pid *actor.PID) {
	if f.passes() {
		f.future.Stop(pid)
	}
}
