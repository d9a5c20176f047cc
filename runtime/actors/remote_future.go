package actors

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// remoteFuture is a future of another rank: its PID and its Process in one allocation. Every request
// that arrives needs a PID and a Process, in most cases for a single answer.
type remoteFuture struct {
	pid     actor.PID
	process futureProcess
}

// remoteFuturesTotal is the number of remoteFutures in one allocation. A reference to one of their PIDs
// keeps all of them in memory.
const remoteFuturesTotal = 4

// remoteFutures is a cache of the most recent futures of other ranks. With it, the Process of a PID is
// found without parsing the PID. The engine's lock guards add; any goroutine may call find.
type remoteFutures struct {
	recent [64]atomic.Pointer[remoteFuture] // see slot
	// unused is the rest of the last allocation. The engine's lock guards it.
	unused []remoteFuture
}

// slot returns the cache entry for a future. The last character of the address and that of the id select the
// entry. The id of a future ends with a digit of a counter of its rank, so that consecutive futures of a
// rank have different entries.
func (t *remoteFutures) slot(address, id string) *atomic.Pointer[remoteFuture] {
	return &t.recent[(uint(id[len(id)-1])+37*uint(address[len(address)-1]))%uint(len(t.recent))]
}

// add makes a remoteFuture for a future of a rank, enters it in the cache and returns its PID.
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

// find returns the remoteFuture that contains a PID, or nil if this remoteFuture is not in the cache.
func (t *remoteFutures) find(pid *actor.PID) *remoteFuture {
	if pid.Address == "" {
		return nil
	}
	if a := t.slot(pid.Address, pid.Id).Load(); a != nil && &a.pid == pid {
		return a
	}
	return nil
}

// isActor reports whether a Process is an actor. It is needed because the name of an actor may look like
// a future's.
func isActor(p actor.Process) bool {
	_, ok := p.(*actor.ActorProcess)
	return ok
}

// futureProcess is the Process of a future of another rank. It forwards answers to the future, which
// accepts the first one. An answer is addressed by name and needs no credit. futureProcess has no stream of its
// own; the answer is sent through the nameless remote of the rank (see namelessOf). A PID whose address names
// no rank, or another generation of the job, also has a futureProcess. In this case the field err is the
// reason, and all messages of the program to the PID become dead letters.
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
