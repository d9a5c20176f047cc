package actors

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// vacancy is a name of this rank that no actor had when System.PID was asked for it,
// as protoactor sees it: a Process. What comes for it waits until an actor has the
// name, as it does at other ranks.
type vacancy struct {
	s  *System
	id string
	// box is the actor's mailbox, once it was found.
	box atomic.Pointer[mailbox]
}

var _ actor.Process = (*vacancy)(nil)

// vacancies are what waits for actors of this rank, by name.
type vacancies struct {
	// mu guards what it contains. Nothing is called with it held.
	mu     sync.Mutex
	kept   map[string]*backlog
	closed bool // nothing is kept any more
}

// backlog is what waits for one actor.
type backlog struct {
	letters []letter
	bytes   int
	passing bool // the actor is there: somebody passes the letters on
	end     *time.Timer
}

// letter is one message that waits: of protoactor itself, or any other.
type letter struct {
	pid     *actor.PID
	message any
	system  bool
}

// has reports whether something waits for an actor: what comes must wait behind it.
func (v *vacancies) has(name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.kept[name] != nil
}

// own returns the PID of an actor of this rank.
func (s *System) own(name string) *actor.PID {
	if _, ok := s.ProcessRegistry.GetLocal(name); ok && !s.vacancies.has(name) {
		return s.NewLocalPID(name)
	}
	// A PID keeps the Process that it led to first, which it does here while it is
	// known by another name.
	pid, _ := s.ProcessRegistry.Add(&vacancy{s: s, id: name}, "vacancy"+s.ProcessRegistry.NextId())
	s.Root.Stop(pid)
	s.ProcessRegistry.Remove(pid)
	pid.Id = name
	return pid
}

// SendUserMessage implements actor.Process.
func (x *vacancy) SendUserMessage(pid *actor.PID, message any) {
	if m := x.box.Load(); m != nil && !m.dead.Load() {
		m.PostUserMessage(message)
		return
	}
	x.pass(letter{pid, message, false})
}

// SendSystemMessage implements actor.Process.
func (x *vacancy) SendSystemMessage(pid *actor.PID, message any) { x.pass(letter{pid, message, true}) }

// Stop implements actor.Process. Nothing is done for own, nor to nobody.
func (x *vacancy) Stop(pid *actor.PID) {
	if pid.Id == x.id {
		x.pass(letter{pid, &actor.Stop{}, true})
	}
}

// pass gives a letter to the actor, if it is there and nothing waits before it.
func (x *vacancy) pass(l letter) {
	v := &x.s.vacancies
	cost := int(weight(l.message))
	v.mu.Lock()
	w := v.kept[x.id]
	if w == nil {
		if process, ok := x.s.ProcessRegistry.GetLocal(x.id); ok {
			v.mu.Unlock()
			if box, ok := x.s.boxes.Load(x.id); ok {
				x.box.Store(box.(*mailbox))
			}
			l.give(process)
			return
		}
		if _, watch := l.message.(*actor.Watch); l.system && !watch {
			v.mu.Unlock()
			return // it has no meaning for nobody
		}
		if v.closed {
			v.mu.Unlock()
			x.s.reject(l, runtime.ErrClosed)
			return
		}
		w = &backlog{}
		w.end = time.AfterFunc(x.s.cfg.Patience, func() {
			x.s.deferTask(deferredTask{do: func() { x.s.despair(x.id, w, ErrUnknownActor) }})
		})
		v.kept[x.id] = w
	}
	full := w.bytes > 0 && w.bytes+cost > x.s.cfg.Mailbox && !l.system
	if !full {
		w.letters, w.bytes = append(w.letters, l), w.bytes+cost
	}
	v.mu.Unlock()
	if full {
		x.s.deadLetter(l.pid, l.message, ErrMailboxFull)
	}
}

// give gives a letter to a Process.
func (l letter) give(to actor.Process) {
	_, stop := l.message.(*actor.Stop)
	switch {
	case !l.system:
		to.SendUserMessage(l.pid, l.message)
	case stop:
		to.Stop(l.pid)
	default:
		to.SendSystemMessage(l.pid, l.message)
	}
}

// appeared gives an actor of this rank that was spawned what waits for it, and has the
// serving goroutine do so for other ranks.
func (s *System) appeared(id string) {
	s.deferTask(deferredTask{appeared: id})
	v := &s.vacancies
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.kept[id]
	if w == nil || w.passing {
		return
	}
	w.passing = true
	w.end.Stop()
	for len(w.letters) > 0 {
		letters := w.letters
		w.letters, w.bytes = nil, 0
		v.mu.Unlock()
		for _, l := range letters {
			if process, ok := s.ProcessRegistry.GetLocal(id); ok {
				l.give(process)
			} else {
				s.reject(l, ErrStopped)
			}
		}
		v.mu.Lock()
	}
	delete(v.kept, id)
}

// despair makes dead letters of what waits for an actor that did not appear in time.
func (s *System) despair(id string, w *backlog, why error) {
	v := &s.vacancies
	v.mu.Lock()
	if w.passing {
		v.mu.Unlock()
		return
	}
	delete(v.kept, id)
	v.mu.Unlock()
	for _, l := range w.letters {
		s.reject(l, why)
	}
}

// reject makes a letter a dead letter. A Watch is answered.
func (s *System) reject(l letter, why error) {
	if !l.system {
		s.deadLetter(l.pid, l.message, why)
	} else if watch, ok := l.message.(*actor.Watch); ok {
		s.tellSystem(watch.Watcher, &actor.Terminated{Who: l.pid, Why: actor.TerminatedReason_NotFound})
	}
}
