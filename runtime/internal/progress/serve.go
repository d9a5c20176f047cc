package progress

// Serve is the event that a goroutine begins to serve, with the place w: there is at most
// one such goroutine. It goes on where the one before left.
func (t *Token) Serve(w *Waiter) {
	w.role = serving
	t.server = w
	t.Worked()
}

// Work is the event that the serving goroutine leaves the engine to work. If it has the
// token it keeps it; the background gives it on when the work takes longer than a tick.
func (t *Token) Work() {
	t.shifts++
	if t.holder == t.server {
		t.state = Working
	}
}

// Worked is the event that it is back. Nobody knows whom its work has made runnable.
func (t *Token) Worked() {
	t.woke = true
	if t.state == Working {
		t.state = Serving
	}
}

// StopServing is the event that nobody serves any more.
func (t *Token) StopServing() Ready {
	w := t.server
	t.server = nil
	if t.holder != w {
		return Ready{}
	}
	return t.giveOn()
}

// Call is the event that something came that the serving goroutine has to see. Where it
// is parked it gets the token, from whoever has it: while more comes nobody else is woken.
func (t *Token) Call() Ready {
	s := t.server
	switch {
	case s == nil || t.holder == s && !s.asleep:
		return Ready{}
	case s.asleep:
		return Ready{Do: Ring}
	case !s.parked: // it looks before it waits
		t.woke = true
		return Ready{}
	}
	r := t.unpark(s)
	switch t.state {
	case Asleep:
		r.Do = Disarm
	case Idle:
		r.Do = Disarm | Ring
	default:
	}
	t.take(s)
	return r
}
