package actors

import (
	"fmt"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/deadlock"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// work delivers the arrivals and executes deferred tasks (deferredTask). The field next may then hold an
// actor that runs on workers. If nothing else has become runnable, neither another such actor nor a
// goroutine, the serving goroutine leaves Serve to run the actor in next.
func (p *inbound) work() engine.Next {
	before := p.s.workers.pushed.Load()
	woke := p.deliverAll()
	p.settle()
	p.flush()
	for rounds := 0; rounds < tasksMost && p.s.local.some.Load(); rounds++ {
		p.execute()
	}
	woke = woke || p.s.workers.pushed.Load() != before
	switch {
	case p.next == nil && woke:
		return engine.Yield
	case p.next == nil:
		return engine.Stay
	case woke:
		p.s.workers.push(p.next)
		p.next = nil
		return engine.Yield
	default:
		return engine.Leave
	}
}

// tasksMost is how often work takes the deferred tasks before it lets the engine poll. The bound is needed,
// because inline actors that send messages to themselves or to each other always have another task.
const tasksMost = 64

// execute executes the deferred tasks that are queued.
func (p *inbound) execute() {
	for _, e := range p.s.local.take() {
		if e.run != nil {
			p.run(e.run)
		} else {
			e.do()
		}
	}
}

// serveTasks executes deferred tasks after the end of the engine, until stop is closed. So inline actors
// continue to run until the System is closed, as the actors of workers do.
func (p *inbound) serveTasks(stop <-chan struct{}) {
	p.goroutine.Store(engine.Goroutine())
	defer p.goroutine.Store(0)
	for {
		select {
		case <-stop:
			return
		default:
		}
		if p.s.local.some.Load() {
			p.execute()
			continue
		}
		select {
		case <-stop:
			return
		case <-p.s.local.wake:
		}
	}
}

// run runs an inline actor on the serving goroutine.
func (p *inbound) run(m *mailbox) {
	above := p.box
	p.box = m
	p.s.stallDetector.ran(m)
	again := m.run()
	p.box = above
	if again {
		p.s.deferTask(deferredTask{run: m})
	}
}

// deliver delivers an arrival to its addressee. It returns true if the delivery may have made a goroutine
// runnable without a push to the workers, for example because the addressee has a mailbox of another package.
func (p *inbound) deliver(a *arrival) (woke bool) {
	switch a.kind {
	case arrivalSettle:
		a.in.settle(a.number)
		return false
	case arrivalCredit:
		a.details.stream.Owner.(*remoteEntry).credited(p.s)
		return true
	case arrivalRefused:
		m := a.message.(*refusal)
		m.stream.Owner.(*remoteEntry).refused(p.s, m)
		return true
	case arrivalLost:
		p.settle() // an answer that was received completely comes before the loss, which ends its request
		p.flush()
		p.s.lost(int(a.source), a.details.err)
		return true
	default:
	}
	switch r := a.details; {
	case a.in != nil && a.kind != arrivalProbe && p.keep(a):
	case a.kind == arrivalClosed:
		a.in.forget()
	case !a.there():
		a.in.pulling = true
		a.in.kept = append(a.in.kept, *a)
	case a.in != nil && a.in.lost != nil && a.kind == arrivalMessage:
		p.reject(a, a.in.lost)
	case r != nil && r.large:
		p.fetch(a)
	case r != nil && r.err != nil:
		p.reject(a, r.err)
		return true
	default:
		return p.handIn(a)
	}
	return false
}

// keep queues an arrival after the arrivals that wait at its receive stream. It returns false if the
// arrival need not wait. If the arrival is a long message, and it must wait for another long message
// of its own stream, its receive nevertheless begins at once.
func (p *inbound) keep(a *arrival) bool {
	at := a.in.busy()
	switch {
	case at == nil:
		return false
	case at == a.in && at.pulling && a.details != nil && a.details.large:
		p.fetch(a)
	default:
		at.kept = append(at.kept, *a)
	}
	return true
}

// flush delivers the messages in batch to their mailbox.
func (p *inbound) flush() {
	if p.to == nil {
		return
	}
	to := p.to
	p.to = nil
	to.accept(p.batch, p)
	clear(p.batch)
	p.batch = p.batch[:0]
}

// lookUp finds the addressee of an arrival: a mailbox of this package, or another Process. If the
// actor may still be spawned, or if letters wait for it in pending, all results are nil. If the actor
// has ended, the error is ErrStopped. If earlier messages of the stream have waited for the actor until
// Config.Patience had passed, the error is ErrUnknownActor.
func (p *inbound) lookUp(a *arrival) (box *mailbox, process actor.Process, err error) {
	if a.in != nil {
		if box = a.in.box(); box != nil {
			return box, nil, nil
		}
	}
	id := a.id()
	process, exists := p.s.ProcessRegistry.GetLocal(id)
	if !exists {
		process = nil // GetLocal has returned the dead letter Process
	}
	if a.in == nil && exists && strings.HasPrefix(id, futurePrefix) && !isActor(process) {
		return nil, process, nil
	}
	if a.in != nil && p.s.pending.has(id) && (exists || !a.in.existed.Load() && !a.in.unknown.Load()) {
		return nil, nil, nil
	}
	if b, ok := p.s.boxes.Load(id); ok {
		box, process = b.(*mailbox), nil
	}
	switch {
	case box == nil && !exists && (a.in == nil || a.in.existed.Load() || id == namelessID):
		return nil, nil, ErrStopped
	case box == nil && !exists && a.in.unknown.Load():
		return nil, nil, ErrUnknownActor
	case a.in != nil && box != nil:
		a.in.ref = box.reference()
		a.in.existed.Store(true)
	}
	return box, process, nil
}

// handIn delivers an arrival to its addressee, or stores it for an actor that may still be spawned. It
// returns true in the same cases as deliver.
func (p *inbound) handIn(a *arrival) (woke bool) {
	box, process, err := p.lookUp(a)
	l := letter{in: a.in, cost: a.cost, system: a.kind == arrivalSystem}
	switch {
	case err != nil:
	case a.kind == arrivalProbe:
		if box != nil {
			p.flush()
			p.s.probed(a.message.(deadlock.Probe), box)
		} else if f, ok := process.(forwarder); ok {
			p.flush()
			p.s.probedForwarder(a.message.(deadlock.Probe), f)
		}
		return process != nil
	case l.system:
		if l.message, box = p.system(a, box); l.message == nil {
			return false
		}
	default:
		l.message, err = p.open(a)
	}
	switch {
	case err != nil:
		p.reject(a, err)
	case box == nil:
		l.pid = p.addressee(a)
		if process == nil {
			p.s.receive(a.id(), l)
			return false
		}
		if a.in != nil {
			p.flush() // a forwarder may pass the message to the mailbox whose earlier messages are in batch
		}
		l.give(p.s, process)
		return true
	case l.system:
		p.flush()
		box.PostSystemMessage(l.message)
	case batchOf(l.message) != nil:
		p.flush()
		box.postArrived(item{message: l.message, in: a.in, cost: a.cost})
	default:
		if p.to != box {
			p.flush()
		}
		p.to = box
		p.batch = append(p.batch, item{message: l.message, in: a.in, cost: a.cost})
	}
	return false
}

// open decodes and returns the message of an arrival. If there is a sender or a header, the message
// is in an envelope.
func (p *inbound) open(a *arrival) (any, error) {
	var headers map[string]string
	if r := a.details; r != nil {
		headers = r.headers
		if err := p.decode(a, r); err != nil {
			return nil, err
		}
	}
	if a.sender == nil && headers == nil {
		return a.message, nil
	}
	return &actor.MessageEnvelope{Header: headers, Message: a.message, Sender: a.sender}, nil
}

// decode decodes the message of an arrival if it is not decoded yet.
func (p *inbound) decode(a *arrival, r *arrivalDetails) (err error) {
	c, memory := r.codec, r.memory
	if c == nil {
		return nil
	}
	r.codec, r.memory = nil, nil
	switch {
	case c == codec.Message && memory != nil:
		a.message = p.s.world.Received(memory)
	case c == codec.Message:
		a.message = p.s.world.Wrap(int(a.source), r.bytes)
	case memory != nil:
		a.message, err = c.Decode(memory.Bytes)
		memory.Release()
	default:
		a.message, err = c.Decode(r.bytes)
	}
	if err != nil {
		return fmt.Errorf("%w: decode %s: %w", codec.ErrMalformed, c.Name, err)
	}
	return nil
}

// system returns the system message of an arrival, and records the start or end of a watch. It returns nil
// for a Terminated whose watch has ended. box is the mailbox that lookUp has found for the arrival, or nil. system
// returns the mailbox that gets the message. It is another one if a later actor with the name of the addressee has begun
// the watch since lookUp: the watch is removed now, so no other Terminated comes for it.
func (p *inbound) system(a *arrival, box *mailbox) (message any, to *mailbox) {
	switch a.number {
	case codec.NumberWatch:
		p.s.watchedBy(int(a.source), a.id(), a.sender)
		return &actor.Watch{Watcher: a.sender}, box
	case codec.NumberUnwatch:
		p.s.unwatchedBy(int(a.source), a.id(), a.sender)
		return &actor.Unwatch{Watcher: a.sender}, box
	case codec.NumberTerminated:
		watcher := p.s.unwatch(int(a.source), a.id(), a.sender.Id)
		if watcher == nil {
			return nil, nil
		}
		if box != nil && box.pid != watcher {
			if later, ok := p.s.boxes.Load(a.id()); ok {
				box = later.(*mailbox)
			}
		}
		return &actor.Terminated{Who: a.sender, Why: actor.TerminatedReason(a.details.bytes[0])}, box
	default: // codec.NumberStop
		return &actor.Stop{}, box
	}
}

// id returns the id of the addressee, or "" if it is not known.
func (a *arrival) id() string {
	switch {
	case a.in != nil:
		return a.in.name
	case a.to != nil:
		return a.to.Id
	}
	return ""
}

// addressee returns a PID of the addressee.
func (p *inbound) addressee(a *arrival) *actor.PID {
	if a.to != nil {
		return a.to
	}
	return p.s.NewLocalPID(a.id())
}

// reject makes an arrival a dead letter. It answers a Watch by Terminated, removes the watch of a Terminated, and
// discards any other system message. If the arrival announces a long message, reject receives the message first,
// because the sender keeps the message's memory until then.
func (p *inbound) reject(a *arrival, why error) {
	if r := a.details; r != nil && r.large && (a.in == nil || a.in.lost == nil) {
		r.err = why
		p.fetch(a)
		return
	}
	if a.in != nil {
		a.in.repay(a.cost)
	}
	pid := p.addressee(a)
	switch {
	case a.kind == arrivalSystem && a.number == codec.NumberWatch:
		p.s.tellSystem(a.sender, &actor.Terminated{Who: pid, Why: actor.TerminatedReason_NotFound})
		return
	case a.kind == arrivalSystem && a.number == codec.NumberTerminated:
		// The watcher has ended without an Unwatch, for example a future. If a later actor with its name has appeared
		// meanwhile and has begun the same watch, it gets the Terminated.
		if p.s.unwatch(int(a.source), a.id(), a.sender.Id) != nil {
			p.s.tellSystem(pid, &actor.Terminated{Who: a.sender, Why: actor.TerminatedReason(a.details.bytes[0])})
		}
		return
	case a.kind != arrivalMessage:
		return
	}
	if r := a.details; r != nil {
		_ = p.decode(a, r) // the error is ignored, because a dead letter may contain a malformed message
		if r.memory != nil {
			r.memory.Release() // the type is unknown, so decode has not used the memory
		}
	}
	message := a.message
	if a.sender != nil {
		message = &actor.MessageEnvelope{Message: message, Sender: a.sender}
	}
	p.s.deadLetter(pid, message, why)
}
