package progress

// NextBackground is Next for the background goroutine, which polls when no other goroutine
// does.
//
// A tick is a period whose length the driver chooses. While the rank makes calls, the background goroutine
// polls only at the end of each tick, so that it does not slow the calls down. After a tick without
// calls it sleeps with the token. The sleep ends with an arrival or with the next call that polls.
// While a waiting goroutine sleeps, the background goroutine rests.
func (t *Token) NextBackground(in Input) (Action, Ready) {
	b := &t.background
	last := b.last
	b.last = Done
	var r Ready
	switch last {
	case Pause:
		return t.tick()
	case Poll:
		if t.Drains() && t.calls == t.callsSeen {
			return b.does(Arm), r
		}
	case Arm:
		if !in.Armed {
			return b.does(Yield), r
		}
		t.state = Idle
		return b.does(Sleep), r
	case Sleep:
		if t.holder == b {
			t.take(b)
			r.Do = Disarm
		}
		fallthrough
	case Yield:
		if t.Drains() {
			return b.does(Poll), r
		}
	default:
	}
	if t.holder == b {
		end := t.giveOn()
		r = Ready{r.Do | end.Do, end.Wake}
	}
	return t.pause(), r
}

// Drains reports whether the background goroutine continues to poll: it has the token, no parked
// goroutine wants the token, and Close was not called.
func (t *Token) Drains() bool {
	return t.state == Draining && t.parked.first == nil && !t.closed
}

// tick is the event that a tick has ended. If the serving goroutine has been in the same work since
// the last tick, tick passes the token on. If the token is free, the background goroutine takes it
// and polls.
func (t *Token) tick() (Action, Ready) {
	late := t.state == Working && t.shifts == t.shiftSeen
	t.shiftSeen = t.shifts
	var r Ready
	switch {
	case t.closed:
		return Done, r
	case t.asleep.first != nil:
		t.rests = true
		return t.background.does(Rest), r
	case late:
		r = t.giveOn()
	}
	if t.state == Free && r.Wake == nil {
		t.take(&t.background)
		return t.background.does(Poll), r
	}
	return t.pause(), r
}

// pause returns the action Pause, in which the background goroutine waits for the next tick, or
// Done after Close.
func (t *Token) pause() Action {
	t.callsSeen = t.calls
	if t.closed {
		return Done
	}
	return t.background.does(Pause)
}
