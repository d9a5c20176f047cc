//go:build !race

package progress

// enabled reports whether goroutine i can make a step.
func (w *world) enabled(i int) bool {
	g := &w.routines[i]
	free := w.lock < 0
	switch g.at {
	case atStart, atWant, atServe:
		return free && g.kind != absent
	case atSleep:
		return free && g.rung
	case atPark, atPause, atRest:
		return free && g.signal
	case atWork, atEnd:
		return false
	}
	return true
}

// program reports whether the next step of goroutine i is one of the program and not of the
// engine. The engine must not rely on this step, because the program need not take it.
func (w *world) program(i int) bool { return w.routines[i].at == atStart && i != modelBack }

// step makes a step of goroutine i. The argument pace is the answer of the goroutine's Pace after a Poll.
// Consecutive operations form one step if no event from outside can have an effect between them.
func (w *world) step(i int, pace Action) {
	g := &w.routines[i]
	switch g.at {
	case atStart:
		w.lock = int8(i)
		w.start(i)
	case atFirst:
		w.poll(64)
		switch {
		case !w.over(i):
			w.next(i, pace)
		case w.tryEnd(i):
			w.finish(i)
		default:
			w.tell("End", func() Ready { return w.token.End(w.place(i)) })
			w.finish(i)
		}
	case atPoll:
		if !w.token.Has(w.place(i)) {
			w.fault = "a goroutine polls without the token"
		}
		w.poll(64)
		if i != modelBack {
			w.ask()
		}
		w.next(i, pace)
	case atPrepare:
		if w.flaw != prepareLate {
			g.open, g.rung = true, false
		}
		g.at = atArm
	case atArm:
		g.armed = w.arm()
		g.at = atLook
	case atLook:
		if g.armed && i != modelBack {
			w.ask()
		}
		w.next(i, pace)
	case atSleep, atPark, atPause, atRest:
		if g.at != atSleep {
			g.signal = false
		}
		w.lock = int8(i)
		w.next(i, pace)
	case atWant:
		w.lock = int8(i)
		w.next(i, pace)
	case atServe:
		w.lock = int8(i)
		w.serve()
	}
}

// place returns the Waiter of goroutine i.
func (w *world) place(i int) *Waiter {
	if i == modelBack {
		return &w.token.background
	}
	return &w.places[i]
}

// start begins the program of goroutine i.
func (w *world) start(i int) {
	g := &w.routines[i]
	switch {
	case i == modelCaller:
		w.pollOnce()
		g.at, w.lock = atEnd, -1
	case i == modelBack:
		w.next(i, Yield)
	case i == modelServer:
		from := w.token.state
		w.token.Serve(&w.places[i])
		w.event("Serve", from, Ready{})
		w.serve()
	case g.kind == word && w.failed:
		g.at, w.lock = atEnd, -1
	default:
		w.token.Called()
		g.fired = g.kind == message && w.failed
		w.begin(i)
	}
}

// begin begins a wait.
func (w *world) begin(i int) {
	p := &w.places[i]
	if w.over(i) {
		w.finish(i)
		return
	}
	from := w.token.state
	has := w.token.TryBegin(p)
	if !has {
		var r Ready
		has, r = w.token.Begin(p)
		w.event("Begin", from, r)
	} else {
		w.event("TryBegin", from, Ready{})
	}
	if has {
		w.routines[i].at = atFirst
		return
	}
	w.next(i, Yield)
}

// next asks the token what goroutine i does next.
func (w *world) next(i int, pace Action) {
	g := &w.routines[i]
	if i != modelBack && w.flaw == sleepOver && w.places[i].last == Arm {
		g.fired = false
	}
	in := Input{Armed: g.armed, Pace: pace}
	var r Ready
	from, name := w.token.state, "Next"
	if i == modelBack {
		name = "NextBackground"
		g.action, r = w.token.NextBackground(in)
	} else {
		in.Over = w.over(i) && (w.flaw != sleepOver || w.places[i].last != Arm)
		g.action, r = w.token.Next(&w.places[i], in)
	}
	g.armed = false
	if g.action != Sleep && g.action != Arm {
		g.open, g.rung, g.naps = false, false, false
	}
	w.event(name+"="+g.action.String(), from, r)
	switch g.action {
	case Done:
		w.finish(i)
	case Poll:
		g.at = atPoll
	case Arm:
		g.at = atPrepare
	default:
		w.giveUp(i)
	}
}

// giveUp releases the lock for the next action of goroutine i.
func (w *world) giveUp(i int) {
	g := &w.routines[i]
	w.token.Woken()
	w.lock = -1
	switch g.action {
	case Sleep:
		if w.flaw == prepareLate {
			g.open, g.rung = true, false
		}
		g.at, g.naps = atSleep, w.backlog
	case Park:
		g.at = atPark
	case Pause:
		g.at = atPause
	case Rest:
		g.at = atRest
	default:
		g.at = atWant
	}
}

// finish ends a wait.
func (w *world) finish(i int) {
	w.routines[i].open, w.routines[i].naps = false, false
	if i == modelServer {
		w.serve()
		return
	}
	w.routines[i].at, w.lock = atEnd, -1
}

// serve is the loop of the serving goroutine.
func (w *world) serve() {
	g := &w.routines[modelServer]
	if g.action == Done && g.at == atServe {
		from := w.token.state
		w.token.Worked()
		w.event("Worked", from, Ready{})
	}
	g.fired = false
	if !w.failed && w.ready == 0 {
		w.pollOnce()
	}
	switch {
	case w.failed:
		w.tell("StopServing", func() Ready { return w.token.StopServing() })
		g.at, w.lock = atEnd, -1
	case w.ready > 0:
		w.ready = 0
		w.ask()
		from := w.token.state
		w.token.Work()
		w.event("Work", from, Ready{})
		g.at, w.lock, g.action = atWork, -1, Done
	default:
		w.begin(modelServer)
	}
}

// tryEnd calls the token's TryEnd.
func (w *world) tryEnd(i int) bool {
	from := w.token.state
	if !w.token.TryEnd(w.place(i)) {
		return false
	}
	w.event("TryEnd", from, Ready{})
	return true
}
