//go:build !race

package progress

// Moves are numbered. A move below moveArm is a step of the goroutine with this index; its Pace
// says Yield. A move from moveArm up to moveTick is a step of the goroutine with the index
// move-moveArm; its Pace says Arm.
const (
	moveArm  = modelRoutines
	moveTick = 2 * modelRoutines
	// The first move in which the sleep of a goroutine ends by itself. Each goroutine, the
	// background goroutine included, has such a move.
	moveNap   = moveTick + 1
	moveCome  = moveNap + modelRoutines
	moveWord  = moveCome + 2
	moveRing  = moveWord + modelWaiters
	moveEnd   = moveRing + modelWaiters
	moveAbort = moveEnd + 1
	moveClose = moveEnd + 2
	movePost  = moveEnd + 3
	moveWork  = moveEnd + 4
	moves     = moveEnd + 5
)

// class says who makes a move: a goroutine of the engine, the clock, or the environment.
type class uint8

const (
	never   class = iota
	own           // goroutines of the engine, which continue as soon as they can
	clock         // the passing of time
	outside       // peers and the program
)

// can returns the class of a move, or never if the move is not possible. If early is true, any
// Sleep may end by itself.
func (w *world) can(m int, early bool) class {
	free := w.lock < 0
	outsideIf := func(ok bool) class {
		if ok {
			return outside
		}
		return never
	}
	switch {
	case m < moveArm:
		if !w.enabled(m) {
			return never
		}
		if w.program(m) {
			return outside
		}
		return own
	case m < moveTick:
		i := m - moveArm
		if i >= modelBack || w.routines[i].kind == absent || w.routines[i].at != atPoll {
			return never
		}
		return own
	case m == moveTick:
		if w.routines[modelBack].kind != absent && w.routines[modelBack].at == atPause {
			return clock
		}
	case m < moveCome:
		if g := &w.routines[m-moveNap]; free && g.at == atSleep && (early || g.naps) {
			return clock
		}
	case m < moveWord:
		return outsideIf(w.coming[m-moveCome] >= 0)
	case m < moveRing:
		g := &w.routines[m-moveWord]
		return outsideIf(g.kind == word && !g.word && !g.ringing)
	case m < moveEnd:
		if w.routines[m-moveRing].ringing {
			return own
		}
	case m == moveEnd:
		at := w.routines[0].at
		return outsideIf(w.cancels && free && at != atStart && at != atEnd)
	case m == moveAbort:
		return outsideIf(w.aborts && free)
	case m == moveClose:
		return outsideIf(w.closes && free)
	case m == movePost:
		return outsideIf(w.posts && free)
	case m == moveWork:
		return outsideIf(w.routines[modelServer].at == atWork)
	}
	return never
}

// make makes a move.
func (w *world) make(m int) {
	switch {
	case m < moveArm:
		w.step(m, Yield)
	case m < moveTick:
		w.step(m-moveArm, Arm)
	case m == moveTick:
		w.routines[modelBack].at = atWant
	case m < moveCome:
		w.step(m-moveNap, Yield)
	case m < moveWord:
		w.come(m - moveCome)
	case m < moveRing:
		g := &w.routines[m-moveWord]
		g.word, g.ringing = w.flaw != ringBeforeWord, true
		if !g.word {
			w.ring()
		}
	case m < moveEnd:
		g := &w.routines[m-moveRing]
		g.word, g.ringing = true, false
		if w.flaw != ringBeforeWord {
			w.ring()
		}
	case m == moveEnd:
		w.cancels, w.routines[0].canceled = false, true
		w.tell("Rouse", func() Ready { return w.token.Rouse(&w.places[0]) })
	case m == moveAbort:
		w.aborts = false
		w.fail()
	case m == moveClose:
		w.closes, w.closed = false, true
		w.fail()
		w.tell("Close", func() Ready { return w.token.Close() })
	case m == movePost:
		w.posts, w.backlog = false, true
		w.tell("Urge", func() Ready { return w.token.Urge() })
	case m == moveWork:
		w.routines[modelServer].at = atServe
	}
}

// come adds a coming arrival to the queue, and rings if the transports are armed.
func (w *world) come(k int) {
	w.arrivals[w.queued] = w.coming[k]
	w.queued++
	w.coming[k] = -1
	if w.armed { // armed transports ring once
		w.armed = false
		w.ring()
	}
}
