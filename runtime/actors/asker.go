package actors

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// asker is a future of another rank: its PID and its Process, in one piece, because
// every request makes both, and most make no other use of either than one answer.
type asker struct {
	pid     actor.PID
	process remote
}

// askers are the last ones that came, by their ids, so that the Process of a PID is
// found without a look at its text. The engine's lock guards add; any goroutine may
// call find.
type askers [64]atomic.Pointer[asker]

// slot is where a future may be. Its rank numbers its futures, at the end of their
// ids.
func (t *askers) slot(address, id string) *atomic.Pointer[asker] {
	return &t[(uint(id[len(id)-1])+37*uint(address[len(address)-1]))%uint(len(t))]
}

// add makes the PID of a future of a rank.
func (t *askers) add(s *System, rank int, id string) *actor.PID {
	key := remoteKey{rank, s.epochs[rank], id}
	a := &asker{
		pid:     actor.PID{Address: s.addresses[rank], Id: id},
		process: remote{s: s, key: key, once: true},
	}
	t.slot(a.pid.Address, id).Store(a)
	return &a.pid
}

// find returns the future that a PID belongs to, or nil if others came since.
func (t *askers) find(pid *actor.PID) *asker {
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
