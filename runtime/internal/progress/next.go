package progress

// Action is what a goroutine does next.
type Action uint8

// The actions. "Without the lock" means that the goroutine releases the driver's lock
// meanwhile.
const (
	// Done: the wait has ended.
	Done Action = iota
	// Poll: poll the transports, then look for words that have changed.
	Poll
	// Spin: release the lock, take it again, and continue.
	Spin
	// Yield: give the processor to others, without the lock.
	Yield
	// Arm: prepare the Sleeper, arm the transports, and look for words that have changed.
	// Input.Armed reports whether the transports are armed.
	Arm
	// Sleep: sleep in the Sleeper with the ticket of the last Arm, without the lock.
	Sleep
	// Park: wait, without the lock, until this goroutine is Ready.Wake.
	Park
	// Pause: the background waits for its next tick or Resume, without the lock.
	Pause
	// Rest: the background waits for Resume, without the lock.
	Rest
)

// actionNames are the texts of the actions.
var actionNames = [...]string{
	Done: "Done", Poll: "Poll", Spin: "Spin", Yield: "Yield", Arm: "Arm", Sleep: "Sleep",
	Park: "Park", Pause: "Pause", Rest: "Rest",
}

// String returns the name.
func (a Action) String() string { return actionNames[a] }

// Input is the result of an action.
type Input struct {
	// Over says that the wait is over, with success or an error.
	Over bool
	// Armed is the result of Arm.
	Armed bool
	// Pace is what follows Poll: Spin, Yield or Arm. See Pace.Next.
	Pace Action
}

// Next is the event that a waiting goroutine has carried out the action that the last Next
// returned. Before the first one it has done nothing, or has polled after Begin. Next returns
// what the driver does at once, and then the goroutine's next action. Done includes End.
func (t *Token) Next(w *Waiter, in Input) (Action, Ready) {
	var r Ready
	last := w.last
	w.last = Done
	switch last {
	case Arm:
		if in.Armed && !in.Over && !t.woke {
			t.fallAsleep(w)
			return w.does(Sleep), r
		}
		if in.Armed {
			r.Do = Disarm
		}
		if !in.Over {
			return w.does(Yield), r
		}
	case Sleep:
		r.Do = t.awaken(w)
	case Poll:
		if !in.Over && t.holder == w {
			return w.does(in.Pace), r
		}
	default:
	}
	if in.Over {
		end := t.End(w)
		return Done, Ready{r.Do | end.Do, end.Wake}
	}
	has, taken := t.claim(w)
	r.Do |= taken.Do
	if has {
		return w.does(Poll), r
	}
	w.parked = true
	t.parked.push(w)
	if w.Word {
		t.words.push(w)
	}
	return w.does(Park), r
}

// does records the next action.
func (w *Waiter) does(a Action) Action {
	w.last = a
	return a
}

// fallAsleep makes the holder sleep, with the transports armed.
func (t *Token) fallAsleep(w *Waiter) {
	t.state = Asleep
	w.asleep = true
	t.asleep.push(w)
	if w.Word {
		t.words.push(w)
	}
}

// awaken is the inverse of fallAsleep. Another goroutine may have taken the token meanwhile.
func (t *Token) awaken(w *Waiter) (do Do) {
	w.asleep = false
	t.asleep.remove(w)
	if w.Word {
		t.words.remove(w)
	}
	if t.holder == w {
		t.take(w)
		do = Disarm
	}
	if t.rests && t.asleep.first == nil {
		t.rests = false
		do |= Resume
	}
	return do
}
