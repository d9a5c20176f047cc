package actors

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// fencedFuture stands before a future of protoactor in the table of actors, and lets one answer pass
// or the timeout. The future itself takes an answer without its lock: one that comes at the time of
// the timeout, or of another answer, races with the goroutine that reads the result (protoactor's
// issue 1145), which then gets the answer and the error of the timeout, or half of a value.
//
// It is put there before a request comes to a mailbox of this package or leaves the rank, so that no
// answer is earlier. A request to an actor of this rank that does not exist comes to neither: it is
// answered before RequestFuture returns.
type fencedFuture struct {
	future actor.Process
	timer  *time.Timer // nil: no timeout
	ended  atomic.Bool
	// late says that the future had ended before it was fenced. The lock of the table guards it.
	late bool
}

var _ actor.Process = (*fencedFuture)(nil)

// isFuture reports whether a PID is that of a future of this rank.
func (s *System) isFuture(pid *actor.PID) bool {
	return pid != nil && len(pid.Id) > len(futurePrefix) && pid.Id[:len(futurePrefix)] == futurePrefix && pid.Address == s.Address()
}

// fence fences the future that a request names as its sender, if it is one.
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
	f := &fencedFuture{future: process, timer: timer}
	table := s.ProcessRegistry.LocalPIDs.GetBucket(sender.Id)
	if table.Upsert(sender.Id, f, stillThere); f.late {
		table.Remove(sender.Id)
	}
}

// stillThere replaces a future that is in the table. It is called with the lock of the table.
func stillThere(exists bool, was, fenced any) any {
	if _, already := was.(*fencedFuture); already {
		return was // another goroutine has passed on the request
	}
	fenced.(*fencedFuture).late = !exists
	return fenced
}

// passes reports whether the calling goroutine ends the future. If its timer cannot be stopped any
// more, that does.
func (f *fencedFuture) passes() bool {
	return !f.ended.Swap(true) && (f.timer == nil || f.timer.Stop())
}

// SendUserMessage implements actor.Process.
func (f *fencedFuture) SendUserMessage(pid *actor.PID, message any) {
	if f.passes() {
		f.future.SendUserMessage(pid, message)
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
