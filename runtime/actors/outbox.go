package actors

import (
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"
)

// wait handles a message that cannot be sent now, because there is no credit or earlier messages wait for credit.
// A message of an actor waits in the actor's outbox. If the serving goroutine sends a message while it runs no actor,
// the message waits without a bound. Any other goroutine blocks.
func (r *remote) wait(pid *actor.PID, message any, o *outgoing) {
	who, serving := r.s.running()
	if who == nil && !serving {
		r.block(pid, message, o)
		return
	}
	bytes := weight(o.content) + uint32(min(o.codec.Size, 1<<30))
	begins, held := r.s.hold(who, r, int64(bytes))
	if !held {
		r.s.deadLetter(pid, message, ErrMailboxFull)
		return
	}
	r.mu.Lock()
	first := len(r.queue) == 0
	r.queue = append(r.queue, waiting{item{message: message, cost: bytes}, who})
	r.queued.Store(true)
	r.entry.waiting.Store(r)
	r.mu.Unlock()
	if first {
		// Credit may have arrived before the message was queued. When credit arrives later, drain is called.
		r.drain()
	}
	if begins && who.held() {
		r.s.probe(who, r)
	}
}

// block sends the message of a goroutine that runs no actor. If there is no credit, the goroutine
// waits for credit.
func (r *remote) block(pid *actor.PID, message any, o *outgoing) {
	for sent := false; !sent; {
		l, err := r.openStream()
		if err == nil {
			err = r.s.engine.AwaitCredit(l, "tell "+name(pid))
		}
		if err == nil && r.queued.Load() {
			r.drain()
		}
		if err == nil && !r.queued.Load() {
			sent, err = r.tell(o)
		}
		if err != nil {
			r.s.deadLetter(pid, message, err)
			return
		}
	}
}

// unqueued describes messages that drain has removed from the queue. These are either consecutive
// messages of one actor that were sent, or one message that could not be sent, with the error.
type unqueued struct {
	owner   *mailbox
	bytes   int64
	message any
	err     error
}

// drain sends the messages of the queue, in order, until the queue is empty or the credit is used up.
func (r *remote) drain() {
	var all []unqueued
	r.mu.Lock()
	for len(r.queue) > 0 {
		w := r.queue[0]
		sent := false
		var o outgoing
		o.contained = true
		err := o.address(w.message, "")
		if err == nil {
			sent, err = r.tell(&o)
		}
		if !sent && err == nil {
			break
		}
		r.queue[0] = waiting{}
		r.queue = r.queue[1:]
		last := len(all) - 1
		switch {
		case err != nil:
			all = append(all, unqueued{w.owner, int64(w.cost), w.message, err})
		case last >= 0 && all[last].owner == w.owner && all[last].err == nil:
			all[last].bytes += int64(w.cost)
		default:
			all = append(all, unqueued{owner: w.owner, bytes: int64(w.cost)})
		}
	}
	if len(r.queue) == 0 {
		r.queue = nil
		r.queued.Store(false)
		r.entry.waiting.Store(nil)
	}
	r.mu.Unlock()
	for i := range all {
		if u := &all[i]; u.err != nil {
			r.s.deadLetter(r.key.pid(), u.message, u.err)
		}
		r.s.release(all[i].owner, r, all[i].bytes)
	}
}

// drainAll drains the queues of all remotes. After the end of the engine, no credit comes, and the
// messages that wait become dead letters.
func (s *System) drainAll() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.remotes))
	s.mu.Unlock()
	for _, l := range all {
		l.drain()
	}
}
