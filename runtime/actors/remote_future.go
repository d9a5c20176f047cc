package actors

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// remoteFuture is a future of another rank: its PID and its Process in one allocation. Every
// request needs both, and mostly for a single answer.
type remoteFuture struct {
	pid     actor.PID
	process futureProcess
}

// remoteFuturesTotal is the number of remoteFutures in one allocation. A reference to the PID of
// one keeps the memory of all.
const remoteFuturesTotal = 4

// remoteFutures are the most recent ones, by their ids, so that the Process of a PID is found
// without parsing the PID. The engine's lock guards add; any goroutine may call find.
type remoteFutures struct {
	recent [64]atomic.Pointer[remoteFuture]
	// unused are not yet used. The engine's lock guards it.
	unused []remoteFuture
}

// slot is the index of a future. The id of a future ends with a number that its rank counts.
func (t *remoteFutures) slot(address, id string) *atomic.Pointer[remoteFuture] {
	return &t.recent[(uint(id[len(id)-1])+37*uint(address[len(address)-1]))%uint(len(t.recent))]
}

// add makes the PID of a future of a rank.
func (t *remoteFutures) add(s *System, rank int, id string) *actor.PID {
	if len(t.unused) == 0 {
		t.unused = make([]remoteFuture, remoteFuturesTotal)
	}
	a := &t.unused[0]
	t.unused = t.unused[1:]
	a.pid.Address, a.pid.Id = s.addresses[rank], id
	a.process = futureProcess{s: s, rank: rank}
	t.slot(a.pid.Address, id).Store(a)
	return &a.pid
}

// find returns the future of a PID, or nil if a later one has replaced it.
func (t *remoteFutures) find(pid *actor.PID) *remoteFuture {
	if pid.Address == "" {
		return nil
	}
	if a := t.slot(pid.Address, pid.Id).Load(); a != nil && &a.pid == pid {
		return a
	}
	return nil
}

// isActor reports whether a Process is an actor, which may have the name of a future.
func isActor(p actor.Process) bool {
	_, ok := p.(*actor.ActorProcess)
	return ok
}

// futureProcess is a future of another rank as protoactor sees it: a Process. It takes one answer,
// which is addressed by name and needs no credit. It has no stream of its own; the answer uses
// the nameless remote of the rank. A PID whose address is of no rank, or of another
// generation of the job, has a futureProcess, too. Its err says so, and it refuses all messages.
type futureProcess struct {
	s    *System
	rank int
	err  error
}

var _ actor.Process = (*futureProcess)(nil)

// SendUserMessage implements actor.Process.
func (r *futureProcess) SendUserMessage(pid *actor.PID, message any) {
	if r.err != nil {
		r.s.deadLetter(pid, message, r.err)
		return
	}
	r.s.inbound.namelessOf(r.rank).send(pid, message, pid.Id)
}

// Stop implements actor.Process.
func (r *futureProcess) Stop(pid *actor.PID) { r.SendSystemMessage(pid, &actor.Stop{}) }

// SendSystemMessage implements actor.Process.
func (r *futureProcess) SendSystemMessage(pid *actor.PID, message any) {
	if r.err == nil {
		r.s.inbound.namelessOf(r.rank).sendSystem(pid, message, remoteKey{r.rank, r.s.epoch, pid.Id}, pid.Id)
		return
	}
	switch m := message.(type) {
	case *actor.Watch:
		r.s.tellSystem(m.Watcher, &actor.Terminated{Who: pid, Why: actor.TerminatedReason_AddressTerminated})
	case *actor.Unwatch, *actor.Terminated: // a future is not watched
	default:
		r.s.deadLetter(pid, message, r.err)
	}
}
