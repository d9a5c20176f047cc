package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/actors/internal/codec"
)

// wait deals with a message for which there is no credit: an actor's waits in its
// outbox, anybody else waits himself.
func (r *remote) wait(pid *actor.PID, message, m any) {
	who, serving := r.s.running()
	if who == nil && !serving {
		r.block(pid, message, m)
		return
	}
	bytes := int64(weight(m))
	begins, held := r.s.hold(who, r, bytes)
	if !held {
		r.s.deadLetter(pid, message, ErrMailboxFull)
		return
	}
	r.mu.Lock()
	first := len(r.queue) == 0
	r.queue = append(r.queue, waiting{item{message: message, cost: uint32(bytes)}, who})
	r.queued.Store(true)
	r.line.waiting.Store(r)
	r.mu.Unlock()
	if first {
		r.drain() // credit may have come meanwhile; else it is yet to come
	}
	if begins && who.held() {
		r.s.probe(who, r)
	}
}

// block sends a message of a goroutine that is no actor when there is credit.
func (r *remote) block(pid *actor.PID, message, m any) {
	h := codec.Head{}
	if env, ok := message.(*actor.MessageEnvelope); ok {
		h.Sender, h.Headers = env.Sender, env.Header
	}
	c := codec.Of(m)
	for {
		l, err := r.linked()
		if err == nil {
			err = r.s.engine.AwaitCredit(l, "tell "+name(pid))
		}
		if err == nil && r.queued.Load() {
			r.drain()
		}
		sent := false
		if err == nil && !r.queued.Load() {
			sent, err = r.tell(c, m, &h)
		}
		if err != nil {
			r.s.deadLetter(pid, message, err)
		}
		if sent || err != nil {
			return
		}
	}
}

// gone is what waits no more: messages of one actor in a row, or one that could
// not be sent, and why.
type gone struct {
	owner   *mailbox
	bytes   int64
	message any
	err     error
}

// drain sends what waits, as far as the credit goes.
func (r *remote) drain() {
	var all []gone
	r.mu.Lock()
	for len(r.queue) > 0 {
		w := r.queue[0]
		m, h := w.message, codec.Head{}
		if env, ok := w.message.(*actor.MessageEnvelope); ok {
			m, h.Sender, h.Headers = env.Message, env.Sender, env.Header
		}
		ok, err := r.tell(codec.Of(m), m, &h)
		if !ok && err == nil {
			break
		}
		r.queue[0] = waiting{}
		r.queue = r.queue[1:]
		last := len(all) - 1
		switch {
		case err != nil:
			all = append(all, gone{w.owner, int64(w.cost), w.message, err})
		case last >= 0 && all[last].owner == w.owner && all[last].err == nil:
			all[last].bytes += int64(w.cost)
		default:
			all = append(all, gone{owner: w.owner, bytes: int64(w.cost)})
		}
	}
	if len(r.queue) == 0 {
		r.queue = nil
		r.queued.Store(false)
		r.line.waiting.Store(nil)
	}
	r.mu.Unlock()
	for i := range all {
		if g := &all[i]; g.err != nil {
			r.s.deadLetter(r.key.pid(), g.message, g.err)
		}
		r.s.release(all[i].owner, r, all[i].bytes)
	}
}
