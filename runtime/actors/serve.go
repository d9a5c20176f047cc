package actors

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
	"github.com/gorun-hpc/gorun/runtime/actors/internal/deadlock"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// work delivers what has arrived, and does the deferredTasks of other goroutines. When an
// actor on a worker is all that was told something, the goroutine leaves to run it.
func (p *post) work() engine.Next {
	before := p.s.workers.pushed.Load()
	woke := p.deliverAll()
	p.settle()
	p.flush()
	for p.s.local.some.Load() {
		for _, e := range p.s.local.take() {
			switch {
			case e.run != nil:
				p.run(e.run)
			case e.do != nil:
				e.do()
			default:
				p.appeared(e.appeared)
			}
		}
	}
	woke = woke || p.s.workers.pushed.Load() != before
	switch {
	case p.own == nil && woke:
		return engine.Yield
	case p.own == nil:
		return engine.Stay
	case woke:
		p.s.workers.push(p.own)
		p.own = nil
		return engine.Yield
	default:
		return engine.Leave
	}
}

// run runs an inline actor.
func (p *post) run(m *mailbox) {
	above := p.box
	p.box = m
	p.s.stallDetector.ran(m)
	again := m.run()
	p.box = above
	if again {
		p.s.deferTask(deferredTask{run: m})
	}
}

// deliver brings an arrival where it belongs. It returns whether something else
// than an actor of ours was told, which may have woken a goroutine.
func (p *post) deliver(a *arrival) bool {
	if to := p.to; to != nil && a.rare == nil && a.sender == nil && a.kind == arrivalMessage && a.in != nil && a.in.flowing() == to {
		p.batch = append(p.batch, item{message: a.message, in: a.in, cost: a.cost})
		return false
	}
	switch {
	case a.kind == arrivalSettle:
		a.in.settle(a.number)
		return false
	case a.in != nil && a.kind != arrivalProbe && p.keep(a):
		return false
	case a.kind == arrivalClosed:
		a.in.forget()
		return false
	case !a.there():
		a.in.pulling = true
		a.in.kept = append(a.in.kept, *a)
		return false
	case a.in != nil && a.in.lost != nil && a.kind == arrivalMessage:
		p.reject(a, a.in.lost)
		return false
	case a.rare != nil && a.rare.large:
		p.fetch(a)
		return false
	case a.kind == arrivalCredit:
		a.rare.stream.Owner.(*line).credited(p.s)
	case a.kind == arrivalRefused:
		a.rare.stream.Owner.(*line).refused(p.s, a.rare.stream)
	case a.kind == arrivalLost:
		p.flush()
		p.s.lost(int(a.source), a.rare.err)
	case a.rare != nil && a.rare.err != nil:
		p.reject(a, a.rare.err)
	default:
		if box := a.box(); box != nil {
			p.bring(a, box)
			return false
		}
		return p.find(a)
	}
	return true
}

// keep keeps an arrival behind what waits before it, if something does. Of long
// messages behind a long one all are fetched.
func (p *post) keep(a *arrival) bool {
	at := a.in.busy()
	switch {
	case at == nil:
		return false
	case at == a.in && at.pulling && a.rare != nil && a.rare.large:
		p.fetch(a)
	default:
		at.kept = append(at.kept, *a)
	}
	return true
}

// flush delivers the messages that were brought.
func (p *post) flush() {
	if p.to == nil {
		return
	}
	to := p.to
	p.to = nil
	to.accept(p.batch, p)
	clear(p.batch)
	p.batch = p.batch[:0]
}

// bring gives an arrival to an actor with a mailbox of ours.
func (p *post) bring(a *arrival, m *mailbox) {
	if p.to != m || a.kind != arrivalMessage {
		p.flush()
	}
	switch a.kind {
	case arrivalProbe:
		p.s.probed(a.message.(deadlock.Probe), m)
	case arrivalSystem:
		if message := p.system(a); message != nil {
			m.PostSystemMessage(message)
		}
	default:
		message, err := p.open(a)
		if err != nil {
			p.reject(a, err)
			return
		}
		p.to = m
		p.batch = append(p.batch, item{message: message, in: a.in, cost: a.cost})
	}
}

// find looks for the actor of an arrival.
func (p *post) find(a *arrival) bool {
	id := a.id()
	if a.in == nil && a.kind == arrivalMessage && strings.HasPrefix(id, futurePrefix) {
		if process, ok := p.s.ProcessRegistry.GetLocal(id); ok && !isActor(process) {
			p.bringProcess(a, process)
			return true
		}
	}
	if box, ok := p.s.boxes.Load(id); ok {
		if a.in != nil {
			a.in.door, a.in.existed = box.(*mailbox).entrance(), true
		}
		p.bring(a, box.(*mailbox))
		return false
	}
	process, ok := p.s.ProcessRegistry.GetLocal(id)
	switch {
	case ok:
		p.bringProcess(a, process)
		return true
	case a.in == nil || a.in.existed || id == nobody:
		p.reject(a, ErrStopped)
	default:
		p.expect(a)
	}
	return false
}

// bringProcess gives an arrival to a Process that is no actor of ours: a future,
// an actor with a mailbox of its own.
func (p *post) bringProcess(a *arrival, process actor.Process) {
	pid := p.addressee(a)
	if a.in != nil {
		a.in.existed = true
	}
	switch a.kind {
	case arrivalProbe:
	case arrivalSystem:
		if message := p.system(a); message != nil {
			process.SendSystemMessage(pid, message)
		}
	default:
		message, err := p.open(a)
		if err != nil {
			p.reject(a, err)
			return
		}
		if a.in != nil {
			a.in.repay(a.cost)
		}
		process.SendUserMessage(pid, message)
	}
}

// open makes the message of an arrival, in its envelope if it has one.
func (p *post) open(a *arrival) (any, error) {
	var headers map[string]string
	if r := a.rare; r != nil {
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

// decode makes the message of an arrival that is not made yet.
func (p *post) decode(a *arrival, r *rarity) (err error) {
	c, memory := r.codec, r.memory
	if c == nil {
		return nil
	}
	r.codec, r.memory = nil, nil
	switch {
	case c == codec.Message:
		a.message = p.s.world.Received(memory)
		return nil
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

// system makes the system message of an arrival; nil if it has no meaning any
// more.
func (p *post) system(a *arrival) any {
	switch a.number {
	case codec.NumberWatch:
		p.s.watchedBy(int(a.source), a.id(), a.sender)
		return &actor.Watch{Watcher: a.sender}
	case codec.NumberUnwatch:
		p.s.unwatchedBy(int(a.source), a.id(), a.sender)
		return &actor.Unwatch{Watcher: a.sender}
	case codec.NumberTerminated:
		if !p.s.unwatch(int(a.source), a.id(), a.sender.Id) {
			return nil
		}
		return &actor.Terminated{Who: a.sender, Why: actor.TerminatedReason(a.rare.bytes[0])}
	default: // codec.NumberStop
		return &actor.Stop{}
	}
}

// box returns the mailbox of the addressee, if the stream has led there before.
func (a *arrival) box() *mailbox {
	if a.in == nil {
		return nil
	}
	return a.in.box()
}

// id is the id of the addressee.
func (a *arrival) id() string {
	switch {
	case a.in != nil:
		return a.in.name
	case a.to != nil:
		return a.to.Id
	}
	return ""
}

// addressee is a PID of the addressee.
func (p *post) addressee(a *arrival) *actor.PID {
	if a.to != nil {
		return a.to
	}
	return p.s.NewLocalPID(a.id())
}

// reject makes an arrival a dead letter. A Watch is answered. A long message is
// fetched first: its sender keeps the memory until then.
func (p *post) reject(a *arrival, why error) {
	switch r := a.rare; {
	case r != nil && r.large && (a.in == nil || a.in.lost == nil):
		r.err = why
		p.fetch(a)
		return
	case r != nil && r.pull != nil:
		r.err = why
		p.deliver(a)
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
	case a.kind != arrivalMessage:
		return
	}
	message := a.message
	if r := a.rare; r != nil && r.memory != nil {
		if r.codec == codec.Message {
			message = p.s.world.Received(r.memory)
		} else {
			r.memory.Release()
		}
		r.memory = nil
	}
	if a.sender != nil {
		message = &actor.MessageEnvelope{Message: message, Sender: a.sender}
	}
	p.s.deadLetter(pid, message, why)
}

// expect keeps an arrival for an actor that may appear, and what follows it. Its
// credit bounds what is kept. A probe or a stop of nobody has no meaning.
func (p *post) expect(a *arrival) {
	if a.kind == arrivalProbe || a.kind == arrivalSystem && a.number != codec.NumberWatch {
		return
	}
	in := a.in
	in.kept = append(in.kept, *a)
	in.listed = true
	in.era++
	era := in.era
	p.expected[in.name] = append(p.expected[in.name], in)
	in.end = time.AfterFunc(p.s.cfg.Patience, func() {
		p.s.deferTask(deferredTask{do: func() { p.giveUp(in, era, ErrUnknownActor) }})
	})
}

// appeared delivers what waited for an actor.
func (p *post) appeared(id string) {
	waiting := p.expected[id]
	delete(p.expected, id)
	for _, in := range waiting {
		in.unlist()
		for _, a := range in.take() {
			p.deliver(&a)
		}
	}
	p.flush()
}

// giveUp makes dead letters of what waits at a receive stream since an era.
func (p *post) giveUp(in *receiveStream, era uint32, why error) {
	if !in.listed || in.era != era {
		return
	}
	in.unlist()
	all := p.expected[in.name]
	if i := slices.Index(all, in); len(all) > 1 {
		p.expected[in.name] = slices.Delete(all, i, i+1)
	} else {
		delete(p.expected, in.name)
	}
	for _, a := range in.take() {
		if a.kind == arrivalClosed {
			a.in.forget()
			continue
		}
		p.reject(&a, why)
	}
}
