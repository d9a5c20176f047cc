package progress

// State says who has the token, and whether anybody polls.
type State uint8

// The states. Whoever sleeps without the token has lent it.
const (
	// Free: nobody has it.
	Free State = iota
	// Polling: a goroutine that waits polls.
	Polling
	// Serving: the serving goroutine polls.
	Serving
	// Draining: the background polls.
	Draining
	// Asleep: a goroutine that waits, or serves, sleeps, and the transports are armed.
	Asleep
	// Idle: the background sleeps, and the transports are armed.
	Idle
	// Working: the serving goroutine is outside of the engine. Nobody polls.
	Working
)

// stateNames are the texts of the states.
var stateNames = [...]string{
	Free: "Free", Polling: "Polling", Serving: "Serving", Draining: "Draining",
	Asleep: "Asleep", Idle: "Idle", Working: "Working",
}

// String returns the name.
func (s State) String() string { return stateNames[s] }

// Do is a set of things that the driver does after an event, before anything else, in
// this order.
type Do uint8

// The things to do.
const (
	// Disarm: disarm the transports.
	Disarm Do = 1 << iota
	// Resume: end the background's Pause or Rest.
	Resume
	// Ring: ring the Sleeper.
	Ring
	// Lend: look for words that have changed, then arm the transports, for a goroutine
	// that sleeps without the token, and report it by Lent.
	Lend
)

// Ready is what the driver does after an event, in the order of the fields of Do and
// with Wake before Ring.
type Ready struct {
	Do Do
	// Wake is the goroutine whose Park ends, or nil.
	Wake *Waiter
}

// Token is the poll token of one rank. Its methods are the events; none of them may be
// called at the same time as another one. Init comes first.
type Token struct {
	state  State
	woke   bool // somebody was made runnable since Woken
	failed bool
	closed bool
	rests  bool // the background rests until Resume
	holder *Waiter
	calls  uint64 // of the rank

	asleep list // goroutines in Sleep, with or without the token; the background excepted
	parked list
	words  list // of both: those with Word
	server *Waiter

	background        Waiter
	callsSeen         uint64 // calls when the background looked last
	shifts, shiftSeen uint64 // how often the server worked; when the background looked last
}

// Init makes the token ready.
func (t *Token) Init() {
	t.words.which = placeWord
	t.background.role = background
}

// State returns the state.
func (t *Token) State() State { return t.state }

// Has reports whether w has the token.
func (t *Token) Has(w *Waiter) bool { return t.holder == w }

// Called notes a call of the rank: the background keeps out of the way.
func (t *Token) Called() { t.calls++ }

// Woken reports whether somebody was made runnable since it was asked last.
func (t *Token) Woken() bool {
	woke := t.woke
	t.woke = false
	return woke
}

// Stirred is Woken without an end: the next one reports the same.
func (t *Token) Stirred() bool { return t.woke }

// Crowded reports whether somebody is parked.
func (t *Token) Crowded() bool { return t.parked.first != nil }

// Words returns the first of the goroutines that are parked or asleep for a word.
func (t *Token) Words() *Waiter { return t.words.first }

// NextWord returns the one after w, which is in that list.
func (w *Waiter) NextWord() *Waiter { return w.places[placeWord].next }

// TryBegin is Begin where nobody has the token. It is apart because it is inlined.
func (t *Token) TryBegin(w *Waiter) bool {
	if t.state != Free {
		return false
	}
	t.state, t.holder = Polling+State(w.role), w
	return true
}

// Begin is the event that a wait begins. It returns whether w has the token: the
// goroutine polls some times and then, as if it had none, calls Next or End. The serving
// goroutine gives way, so that a goroutine that waits again and again polls for itself;
// it is not told, because it looks before it polls.
func (t *Token) Begin(w *Waiter) (bool, Ready) {
	if t.state == Serving || t.state == Working {
		t.take(w)
		return true, Ready{}
	}
	return t.claim(w)
}

// TryEnd is End where nobody has to be told. It is apart because it is inlined.
func (t *Token) TryEnd(w *Waiter) bool {
	if t.state != Polling || t.holder != w || t.asleep.first != nil || t.parked.first != nil {
		return false
	}
	t.state, t.holder = Free, nil
	return true
}

// End is the event that a wait has ended. The token goes to a goroutine that sleeps
// without it, which goes on sleeping, or else a parked one is woken to take it. Who was
// woken to take it and ends instead passes that on. The serving goroutine keeps it while
// nobody sleeps.
func (t *Token) End(w *Waiter) Ready {
	switch {
	case t.holder != w && t.state != Free:
		return Ready{}
	case t.holder == w && w.role == serving && t.asleep.first == nil && !t.failed:
		return Ready{}
	}
	return t.giveOn()
}

// Lent is the event that the driver has done what Lend says; armed is whether the
// transports are armed.
func (t *Token) Lent(armed bool) Ready {
	if !armed {
		return Ready{Do: Ring}
	}
	t.state, t.holder = Asleep, t.asleep.first
	return Ready{}
}

// Rouse is the event that w has to look whether its wait is over.
func (t *Token) Rouse(w *Waiter) Ready {
	switch {
	case w.parked:
		return t.unpark(w)
	case w.asleep:
		return Ready{Do: Ring}
	}
	return Ready{}
}

// Urge is the event that something was queued that a poll has to drive.
func (t *Token) Urge() Ready {
	if t.state == Asleep || t.state == Idle {
		return Ready{Do: Ring}
	}
	return Ready{}
}

// Dislodge is the event that a call is about to poll that does not wait: the background
// ends its sleep, so that senders do not find this rank armed while it is at work.
func (t *Token) Dislodge() Ready {
	if t.state != Idle {
		return Ready{}
	}
	t.state, t.holder = Free, nil
	return Ready{Do: Disarm | Ring}
}

// Fail is the event that every wait ends. The driver rouses those who wait.
func (t *Token) Fail() { t.failed = true }

// Close is the event that the background ends.
func (t *Token) Close() Ready {
	t.closed, t.rests = true, false
	if t.state == Idle {
		return Ready{Do: Resume | Ring}
	}
	return Ready{Do: Resume}
}

// Wreck takes the token from whoever has it, because a panic came out of it.
func (t *Token) Wreck() { t.state, t.holder = Free, nil }

// claim gives w the token if nobody has it, or if its holder sleeps.
func (t *Token) claim(w *Waiter) (bool, Ready) {
	var r Ready
	switch {
	case t.holder == w || t.state == Free:
	case t.state == Asleep:
		r.Do = Disarm
	case t.state == Idle:
		r.Do = Disarm | Ring
	default:
		return false, r
	}
	t.take(w)
	return true, r
}

// take makes w the holder, awake.
func (t *Token) take(w *Waiter) { t.state, t.holder = Polling+State(w.role), w }

// giveOn takes the token from its holder, for the next one.
func (t *Token) giveOn() Ready {
	t.state, t.holder = Free, nil
	if t.asleep.first != nil {
		return Ready{Do: Lend}
	}
	if w := t.parked.first; w != nil {
		return t.unpark(w)
	}
	return Ready{}
}

// unpark ends the Park of w.
func (t *Token) unpark(w *Waiter) Ready {
	w.parked = false
	t.parked.remove(w)
	if w.Word {
		t.words.remove(w)
	}
	t.woke = true
	return Ready{Wake: w}
}
