package engine

import (
	"math"
	"slices"
)

// Forget ends the operations of contexts that this rank does not use any more. The function dead
// selects these contexts. The posted receives and probes of these contexts end with err. The
// unexpected messages of these contexts are dropped; if the sender of such a message waits for the
// match, its send ends with ErrForgotten. All records of these contexts are removed. Afterwards the
// engine treats them as contexts that were never used.
//
// If CloseContexts was not called, a message of such a context that arrives later becomes unexpected
// like any other message. So the caller has two duties before the context is used again. It has to make
// sure that no message of the context is in flight any more, and then has to call Forget again.
func (e *Engine) Forget(dead func(context uint32) bool, err error) {
	e.lock()
	defer e.unlock()
	e.forget(dead, err)
	e.barred = math.MaxUint32
	for context := range e.broken {
		if dead(context) {
			delete(e.broken, context)
			delete(e.over, context)
		} else {
			e.barred = min(e.barred, context)
		}
	}
}

// CloseContexts does what Forget does, and keeps the contexts closed until Forget is called. Meanwhile,
// operations that a late goroutine begins in them end with err, and messages that arrive are dropped.
func (e *Engine) CloseContexts(err error, contexts ...uint32) {
	e.lock()
	defer e.unlock()
	for _, context := range contexts {
		e.bar(context, err)
		if e.over == nil {
			e.over = make(map[uint32]bool)
		}
		e.over[context] = true
	}
	e.forget(func(context uint32) bool { return slices.Contains(contexts, context) }, err)
}

func (e *Engine) forget(dead func(context uint32) bool, err error) {
	e.match.eachPosted(func(en *entry) {
		if dead(en.context) {
			e.match.unpost(en)
			e.complete(en.req, err)
		}
	})
	for _, w := range e.probing {
		if w.err == nil && !w.fired && dead(w.from.context) {
			w.err = err
			e.rouse(w)
		}
	}
	e.match.unexpected[shapeExact].each(func(en *entry) {
		if dead(en.context) {
			e.drop(en.msg)
		}
	})
	for context := range e.acked {
		if dead(context) {
			delete(e.acked, context)
		}
	}
}

// drop drops an unexpected message and, if its sender waits for the match, tells the sender. If all operations
// of this rank have been ended (Engine.err), drop tells the sender nothing. The peers then end their operations
// for the same reason as this rank, and they should report that reason instead of ErrForgotten. The sends of
// this rank to itself have ended, and their records may be free.
func (e *Engine) drop(g *message) {
	p := g.peer
	e.match.take(g)
	switch {
	case g.kind == kindHandover:
		e.giveBack(p, g.key)
	case e.err != nil:
	case g.self != nil:
		e.complete(g.self, ErrForgotten)
	case g.waits:
		e.post(p, header{kind: kindWithdrawn, id: g.id}.pack(), nil)
	}
	e.freeMessage(g)
}
