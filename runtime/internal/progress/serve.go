package progress

// Serve is the event that a goroutine becomes the serving goroutine, with the record w. There is
// at most one such goroutine at a time. The new one continues in the state that its predecessor left.
func (t *Token) Serve(w *Waiter) {
	w.role = serving
	t.server = w
	t.Worked()
}

// Work is the event that the serving goroutine leaves the engine to run handlers. If it has the
// token, it keeps the token. If the work lasts from one tick of the background goroutine to the
// next, the background goroutine passes the token on.
func (t *Token) Work() {
	t.shifts++
	if t.holder == t.server {
		t.state = Working
	}
}

// Worked is the event that the serving goroutine has returned from its handlers. They may have made
// any goroutine runnable.
func (t *Token) Worked() {
	t.woke = true
	if t.state == Working {
		t.state = Serving
	}
}

// StopServing is the event that the serving goroutine stops serving for good. If it has the token,
// the token passes to another goroutine.
func (t *Token) StopServing() Ready {
	w := t.server
	t.server = nil
	if t.holder != w {
		return Ready{}
	}
	return t.giveOn()
}

// Call is the event that a message for the serving goroutine has arrived. If the serving goroutine
// is parked, it is woken and gets the token from the present holder, so that further messages wake
// no other goroutine.
func (t *Token) Call() Ready {
	s := t.server
	switch {
	case s == nil || t.holder == s && !s.asleep:
		return Ready{}
	case s.asleep:
		return Ready{Do: Ring}
	case !s.parked: // the serving goroutine checks for messages before it waits
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
