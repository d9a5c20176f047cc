package progress

// Serve is the event that a goroutine begins to serve, with the place w. There is at most
// one such goroutine. It continues in the state that its predecessor left.
func (t *Token) Serve(w *Waiter) {
	w.role = serving
	t.server = w
	t.Worked()
}

// Work is the event that the serving goroutine leaves the engine to run handlers. It keeps
// the token if it has it. The background passes the token on if that lasts from one of its
// ticks to the next.
func (t *Token) Work() {
	t.shifts++
	if t.holder == t.server {
		t.state = Working
	}
}

// Worked is the event that the serving goroutine is back. Its handlers may have made any
// goroutine runnable.
func (t *Token) Worked() {
	t.woke = true
	if t.state == Working {
		t.state = Serving
	}
}

// StopServing is the event that the serving goroutine ends.
func (t *Token) StopServing() Ready {
	w := t.server
	t.server = nil
	if t.holder != w {
		return Ready{}
	}
	return t.giveOn()
}

// Call is the event that a message arrived for the serving goroutine. If it is parked, it is
// woken and gets the token from the present holder, so that further messages wake no other
// goroutine.
func (t *Token) Call() Ready {
	s := t.server
	switch {
	case s == nil || t.holder == s && !s.asleep:
		return Ready{}
	case s.asleep:
		return Ready{Do: Ring}
	case !s.parked: // it checks for messages before it waits
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
