package actors

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// pendingActors holds the actors of this rank that do not exist yet and for which messages wait.
type pendingActors struct {
	// mu guards byName, its entries and closed. No message is delivered with mu held.
	mu     sync.Mutex
	byName map[string]*pendingActor
	closed bool // no letters are accepted any more
	// total is the length of byName. It is read without mu.
	total atomic.Int32
}

// pendingActor is an actor that does not exist yet. Messages of all ranks wait for it, in order,
// until an actor with the name is spawned. They wait for at most Config.Patience. Config.Mailbox
// bounds the bytes of this rank's messages; the credit of the streams bounds the messages of other
// ranks.
type pendingActor struct {
	letters    []letter
	bytes      int  // total weight of this rank's letters
	delivering bool // the actor exists, and a goroutine delivers the letters
	patience   *time.Timer
}

// letter is a message for an actor of this rank. system is true for a system message of protoactor.
type letter struct {
	pid     *actor.PID
	message any
	system  bool
	in      *receiveStream // nil for a message without a stream, for example a message of this rank
	cost    uint32         // the credit that the message takes from its stream
}

// has reports whether letters wait for an actor. If letters wait, a new message must be queued after
// them.
func (p *pendingActors) has(name string) bool {
	if p.total.Load() == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byName[name] != nil
}

// receive delivers a letter if the actor exists and no other letter waits for the actor. Otherwise it
// stores the letter, or rejects it (see reject) if it cannot be stored.
func (s *System) receive(name string, l letter) {
	switch process, full := s.keep(name, l); {
	case process != nil:
		l.give(s, process)
	case full != nil:
		s.reject(l, full)
	}
}

// keep stores a letter, discards it, or returns the Process to which the caller must deliver it. full is
// the reason why the letter cannot be stored: ErrMailboxFull or runtime.ErrClosed.
func (s *System) keep(name string, l letter) (to actor.Process, full error) {
	p := &s.pending
	cost := 0
	if l.in == nil && !l.system {
		cost = int(weight(l.message))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.byName[name]
	if w == nil {
		if process, ok := s.ProcessRegistry.GetLocal(name); ok {
			return process, nil
		}
		if _, watch := l.message.(*actor.Watch); l.system && !watch {
			return nil, nil // a system message other than Watch has no effect without an actor
		}
		if p.closed {
			return nil, runtime.ErrClosed
		}
		w = &pendingActor{}
		w.patience = time.AfterFunc(s.cfg.Patience, func() {
			s.deferTask(deferredTask{do: func() { s.giveUp(name, w, ErrUnknownActor) }})
		})
		p.byName[name] = w
		p.total.Store(int32(len(p.byName)))
	}
	if cost > 0 && w.bytes > 0 && w.bytes+cost > s.cfg.Mailbox {
		return nil, ErrMailboxFull
	}
	w.letters, w.bytes = append(w.letters, l), w.bytes+cost
	return nil, nil
}

// remove removes the pendingActor of a name. mu is held.
func (p *pendingActors) remove(name string) {
	delete(p.byName, name)
	p.total.Store(int32(len(p.byName)))
}

// appeared delivers the letters that wait for an actor that was spawned. The goroutine that has
// spawned the actor calls appeared, so that later messages of this goroutine arrive after the
// letters.
func (s *System) appeared(name string) {
	s.supersede(name)
	p := &s.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.byName[name]
	if w == nil || w.delivering {
		return
	}
	w.delivering = true
	w.patience.Stop()
	for len(w.letters) > 0 {
		letters := w.letters
		w.letters, w.bytes = nil, 0
		p.mu.Unlock()
		for _, l := range letters {
			if process, ok := s.ProcessRegistry.GetLocal(name); ok {
				l.give(s, process)
			} else {
				s.reject(l, ErrStopped)
			}
		}
		p.mu.Lock()
	}
	p.remove(name)
}

// giveUp rejects the letters for an actor that was not spawned in time. If the letters are being
// delivered, giveUp does nothing.
func (s *System) giveUp(name string, w *pendingActor, why error) {
	p := &s.pending
	p.mu.Lock()
	if p.byName[name] != w || w.delivering {
		p.mu.Unlock()
		return
	}
	p.remove(name)
	p.mu.Unlock()
	for _, l := range w.letters {
		if l.in != nil {
			l.in.unknown.Store(true)
		}
		s.reject(l, why)
	}
}

// close rejects all letters that wait, and makes keep refuse later letters.
func (p *pendingActors) close(s *System) {
	p.mu.Lock()
	p.closed = true
	all := maps.Clone(p.byName)
	p.mu.Unlock()
	for name, w := range all {
		w.patience.Stop()
		s.giveUp(name, w, runtime.ErrClosed)
	}
}

// give delivers a letter to a Process. A mailbox of this package returns the letter's credit when the
// actor takes the message. A forwarder passes the letter on with its credit if possible. For any other
// Process, give returns the credit at once.
func (l letter) give(s *System, to actor.Process) {
	if l.in != nil {
		l.in.existed.Store(true)
	}
	_, stop := l.message.(*actor.Stop)
	switch {
	case l.system && stop:
		to.Stop(l.pid)
	case l.system:
		to.SendSystemMessage(l.pid, l.message)
	case l.in == nil:
		l.send(s, l.pid, to.SendUserMessage)
	default:
		if box, ok := s.boxes.Load(l.pid.Id); ok {
			box.(*mailbox).postArrived(item{message: l.message, in: l.in, cost: l.cost})
			return
		}
		if f, ok := to.(forwarder); ok {
			if pid := f.receiver(l.message); pid != nil {
				l.forward(s, pid)
				return
			}
		}
		l.in.repay(l.cost)
		l.send(s, l.pid, to.SendUserMessage)
	}
}

// send sends the letter's message by a function that may run code of the program. For example, a mailbox of another
// package calls GetMessages of an actor.MessageBatch, and a forwarder may encode the message for another rank. If this
// code panics, the message becomes a dead letter, because the panic would end the goroutine that delivers the letter.
func (l letter) send(s *System, to *actor.PID, send func(to *actor.PID, message any)) {
	err := codec.Contained(func() error { send(to, l.message); return nil })
	if err != nil {
		s.deadLetter(to, l.message, fmt.Errorf("delivery: %w", err))
	}
}

// sendContained sends a message as s.Root.Send does, for a goroutine that a panic must not end (see letter.send).
func (s *System) sendContained(to *actor.PID, message any) {
	letter{message: message}.send(s, to, s.Root.Send)
}

// reject returns the letter's credit and makes the letter a dead letter. It answers a Watch by Terminated,
// and discards any other system message.
func (s *System) reject(l letter, why error) {
	if l.in != nil {
		l.in.repay(l.cost)
	}
	if !l.system {
		s.deadLetter(l.pid, l.message, why)
	} else if watch, ok := l.message.(*actor.Watch); ok {
		s.tellSystem(watch.Watcher, &actor.Terminated{Who: l.pid, Why: actor.TerminatedReason_NotFound})
	}
}

// pendingProcess is the Process of a PID of this rank that System.PID has returned when no actor had
// the name yet.
type pendingProcess struct {
	s    *System
	name string
	// box is the actor's mailbox, nil until SendUserMessage has found it.
	box atomic.Pointer[mailbox]
}

var _ actor.Process = (*pendingProcess)(nil)

// own returns a PID of the actor of this rank that has the given name, or that will get this name
// later.
func (s *System) own(name string) *actor.PID {
	if _, ok := s.ProcessRegistry.GetLocal(name); ok && !s.pending.has(name) {
		return s.NewLocalPID(name)
	}
	// A PID caches the Process that it finds first. The pendingProcess is registered under a temporary
	// name, and Root.Stop makes the PID cache it. Then the PID gets the actor's name.
	pid, _ := s.ProcessRegistry.Add(&pendingProcess{s: s, name: name}, "pending"+s.ProcessRegistry.NextId())
	s.Root.Stop(pid)
	s.ProcessRegistry.Remove(pid)
	pid.Id = name
	return pid
}

// SendUserMessage implements actor.Process.
func (x *pendingProcess) SendUserMessage(pid *actor.PID, message any) {
	if m := x.box.Load(); m != nil && m.lives() && !x.s.closed.Load() {
		m.PostUserMessage(message)
		return
	}
	if box, ok := x.s.boxes.Load(x.name); ok && !x.s.pending.has(x.name) {
		x.box.Store(box.(*mailbox))
	}
	x.s.receive(x.name, letter{pid: pid, message: message})
}

// SendSystemMessage implements actor.Process.
func (x *pendingProcess) SendSystemMessage(pid *actor.PID, message any) {
	x.s.receive(x.name, letter{pid: pid, message: message, system: true})
}

// Stop implements actor.Process. It does nothing if the PID has the temporary name that own uses.
func (x *pendingProcess) Stop(pid *actor.PID) {
	if pid.Id == x.name {
		x.SendSystemMessage(pid, &actor.Stop{})
	}
}
