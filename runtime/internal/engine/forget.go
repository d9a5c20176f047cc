package engine

import (
	"math"
	"slices"
)

// Forget ends what is left of contexts that this rank does not use any more: dead says which.
// Their posted receives and probes end with err, and their messages that no receive has
// matched are dropped. A send of the peer that waits for its match ends with ErrForgotten.
// What the engine recorded of the contexts is removed, as if they had never been used.
//
// A message of such a context that arrives later is unexpected like any other, unless CloseContexts
// was called: before the context is used again the caller makes sure that none is under way, and calls
// Forget again.
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

// CloseContexts is Forget of contexts whose operations that begin later, of goroutines that were late, are
// refused with err, until Forget. So are their messages that arrive later.
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

// drop drops an unexpected message and tells its sender, if that waits. A rank whose operations have all
// been ended says nothing: its peers end their own for the same reason, and are not to take another one for it.
func (e *Engine) drop(g *message) {
	p := g.peer
	e.match.take(g)
	switch {
	case g.kind == kindHandover:
		e.giveBack(p, g.key)
	case g.self != nil:
		e.complete(g.self, ErrForgotten)
	case g.waits && e.err == nil:
		e.post(p, header{kind: kindWithdrawn, id: g.id}, nil)
	}
	e.freeMessage(g)
}
