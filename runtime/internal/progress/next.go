package progress

// Action is what the driver (package engine) has to do next in a waiting goroutine or in the
// background goroutine.
type Action uint8

// The actions. "Without the lock" means that the goroutine releases the driver's lock
// meanwhile.
const (
	// Done: the wait has ended.
	Done Action = iota
	// Poll: poll the transports, then check the words of Token.Words.
	Poll
	// Spin: release the lock, take it again, and continue.
	Spin
	// Yield: yield the processor to other goroutines and processes, without the lock.
	Yield
	// Arm: prepare the Sleeper and arm the transports. If they are armed, check the words of
	// Token.Words. Input.Armed then reports whether the transports are armed.
	Arm
	// Sleep: sleep in the Sleeper with the ticket of the last Arm, without the lock.
	Sleep
	// Park: block, without the lock, until an event returns this goroutine as Ready.Wake.
	Park
	// Pause: the background goroutine blocks until its next tick or until Resume, without the lock.
	Pause
	// Rest: the background goroutine blocks until Resume, without the lock.
	Rest
)

// actionNames are the names of the actions.
var actionNames = [...]string{
	Done: "Done", Poll: "Poll", Spin: "Spin", Yield: "Yield", Arm: "Arm", Sleep: "Sleep",
	Park: "Park", Pause: "Pause", Rest: "Rest",
}

// String returns the name of the action.
func (a Action) String() string { return actionNames[a] }

// Input holds the result of the last action.
type Input struct {
	// Over is true if the wait is over, with success or an error.
	Over bool
	// Armed is true if the last action was Arm and the transports are armed.
	Armed bool
	// Pace is the action that follows Poll: Spin, Yield or Arm. See Pace.Next.
	Pace Action
}

// Next is the event that a waiting goroutine has carried out the action that its last Next returned.
// Before its first Next, the goroutine has called Begin and, if it got the token, has polled. Next
// returns the goroutine's next action. The Ready says what the driver has to do before that action.
// A goroutine that gets Done need not call End.
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

// does records the action a as the last action of w, and returns a.
func (w *Waiter) does(a Action) Action {
	w.last = a
	return a
}

// fallAsleep records that w, the holder of the token, begins to sleep. The transports are armed.
func (t *Token) fallAsleep(w *Waiter) {
	t.state = Asleep
	w.asleep = true
	t.asleep.push(w)
	if w.Word {
		t.words.push(w)
	}
}

// awaken records that w has ended its sleep. Another goroutine may have taken the token meanwhile.
// If the token has not been taken, the transports have to be disarmed. awaken returns what the
// driver has to do.
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
