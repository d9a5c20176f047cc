package actors

import (
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"weak"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// remoteKey names an actor of another rank.
type remoteKey struct {
	rank  int
	epoch uint32
	id    string
}

// pid is a PID of the actor.
func (k remoteKey) pid() *actor.PID { return actor.NewPID(address(k.rank, k.epoch), k.id) }

// line is what a System keeps of an actor of another rank, that is of a remote,
// which lives as long as somebody uses it: PIDs lead to it, and messages that wait
// in it hold it. When it is gone its link is closed, which frees the other end, too.
// A link is closed before the next one to the same actor is made, so their
// messages stay in order.
type line struct {
	key    remoteKey
	remote weak.Pointer[remote]
	link   atomic.Pointer[engine.Link]
	// waiting is the remote while messages wait in it.
	waiting atomic.Pointer[remote]
}

// reach returns the remote of an actor.
func (s *System) reach(key remoteKey) *remote {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[key]; l != nil {
		if r := l.remote.Value(); r != nil {
			return r
		}
		s.hangUp(l)
	}
	r := &remote{s: s, key: key}
	l := &line{key: key, remote: weak.Make(r)}
	r.line = l
	s.lines[key] = l
	goruntime.AddCleanup(r, trail.end, trail{weak.Make(s), weak.Make(l)})
	return r
}

// trail leads from a remote that is gone to its line. The garbage collector keeps it
// until then and would keep all that it leads to, by which a System, which leads to
// remotes, would last for ever: so it leads nowhere by itself.
type trail struct {
	s weak.Pointer[System]
	l weak.Pointer[line]
}

// end is called when the remote is gone.
func (t trail) end() {
	s, l := t.s.Value(), t.l.Value()
	if s == nil || l == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines[l.key] == l {
		delete(s.lines, l.key)
	}
	s.hangUp(l)
}

// hangUp closes the link of a line, if it has one. mu is held: nobody finds that
// there is no line while its link is still open.
func (s *System) hangUp(l *line) {
	if link := l.link.Swap(nil); link != nil {
		s.engine.CloseLink(link)
	}
}

// drain sends what waits.
func (l *line) drain() {
	if r := l.waiting.Load(); r != nil {
		r.drain()
	}
}

// refused is told that a parcel of a link was dropped. Maybe it was the first, and
// nobody knows where the link leads; so the next message makes another.
func (l *line) refused(s *System, link *engine.Link) {
	s.post.redefine(l.key.rank)
	s.unfounded(l.key)
	why := fmt.Errorf("%w: rank %d", ErrNoActors, l.key.rank)
	s.bury(l.key.pid(), nil, why)
	r := l.remote.Value()
	if r != nil {
		r.link.CompareAndSwap(link, nil)
		defer r.drain()
	}
	first := l.link.CompareAndSwap(link, nil)
	if first {
		s.engine.CloseLink(link)
	}
	if first || r == nil { // what is asked through the next link may be answered
		s.unanswered(why, func(one question) bool { return one.rank == l.key.rank && one.id == l.key.id })
	}
}
