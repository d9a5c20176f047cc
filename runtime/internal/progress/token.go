package progress

// State says which goroutine has the token, and whether one polls.
type State uint8

// The states. A goroutine that sleeps without the token has lent it to another one.
const (
	// Free: no goroutine has it.
	Free State = iota
	// Polling: a goroutine that waits polls.
	Polling
	// Serving: the serving goroutine polls.
	Serving
	// Draining: the background polls.
	Draining
	// Asleep: a waiting goroutine or the serving one sleeps, and the transports are armed.
	Asleep
	// Idle: the background sleeps, and the transports are armed.
	Idle
	// Working: the serving goroutine runs handlers, outside of the engine. No goroutine polls.
	Working
)

// stateNames are the texts of the states.
var stateNames = [...]string{
	Free: "Free", Polling: "Polling", Serving: "Serving", Draining: "Draining",
	Asleep: "Asleep", Idle: "Idle", Working: "Working",
}

// String returns the name.
func (s State) String() string { return stateNames[s] }

// Do is a set of actions that the driver carries out at once after an event, in this order.
type Do uint8

// The actions after an event.
const (
	// Disarm: disarm the transports.
	Disarm Do = 1 << iota
	// Resume: end the background's Pause or Rest.
	Resume
	// Ring: ring the Sleeper.
	Ring
	// Lend: a goroutine that sleeps without the token gets it. Prepare the Sleeper, arm the
	// transports, look for words that have changed, and report by Lent whether the transports
	// are armed.
	Lend
)

// Ready is what the driver does after an event, in the order of the bits of Do, with Wake
// before Ring.
type Ready struct {
	Do Do
	// Wake is the goroutine whose Park ends, or nil.
	Wake *Waiter
}

// Token is the poll token of one rank. Its methods are the events. The caller serializes
// them. Init comes first.
type Token struct {
	state  State
	woke   bool // a goroutine was made runnable since the last Woken
	failed bool
	closed bool
	rests  bool // the background rests until Resume
	holder *Waiter
	calls  uint64 // of the rank

	asleep list // goroutines in Sleep, with or without the token, except the background
	parked list
	words  list // members of asleep and parked with Word
	server *Waiter

	background        Waiter
	callsSeen         uint64 // value of calls at the last tick of the background
	shifts, shiftSeen uint64 // how often the server worked; its value at the last tick
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

// Called counts a call of the rank. While a rank makes calls, the background does not sleep
// with the token.
func (t *Token) Called() { t.calls++ }

// Calls returns how often Called was called.
func (t *Token) Calls() uint64 { return t.calls }

// Woken reports whether a goroutine was made runnable since the last call of Woken.
func (t *Token) Woken() bool {
	woke := t.woke
	t.woke = false
	return woke
}

// Stirred reports the same as Woken, and does not reset it.
func (t *Token) Stirred() bool { return t.woke }

// Crowded reports whether a goroutine is parked.
func (t *Token) Crowded() bool { return t.parked.first != nil }

// Words returns the first of the goroutines that are parked or asleep for a word.
func (t *Token) Words() *Waiter { return t.words.first }

// NextWord returns the waiter that follows w in the list of Words.
func (w *Waiter) NextWord() *Waiter { return w.places[placeWord].next }

// TryBegin is the part of Begin that is inlined: it takes a token that is free.
func (t *Token) TryBegin(w *Waiter) bool {
	if t.state != Free {
		return false
	}
	t.state, t.holder = Polling+State(w.role), w
	return true
}

// Begin is the event that a wait begins. It returns whether w has got the token. If so, the
// goroutine polls some times before it calls Next or End; else it calls Next. Begin takes
// the token from the serving goroutine, so that a goroutine that waits repeatedly polls for
// itself. The serving goroutine needs no notice: it checks for the token before it polls.
func (t *Token) Begin(w *Waiter) (bool, Ready) {
	if t.state == Serving || t.state == Working {
		t.take(w)
		return true, Ready{}
	}
	return t.claim(w)
}

// TryEnd is the part of End that is inlined: no other goroutine is asleep or parked.
func (t *Token) TryEnd(w *Waiter) bool {
	if t.state != Polling || t.holder != w || t.asleep.first != nil || t.parked.first != nil {
		return false
	}
	t.state, t.holder = Free, nil
	return true
}

// End is the event that a wait has ended. The token goes to a goroutine that sleeps without
// it, which continues to sleep. If there is none, a parked goroutine is woken to take it. A
// goroutine that was woken for the token, but whose own wait is over, wakes the next one in
// the same way. The serving goroutine keeps the token while no goroutine sleeps.
func (t *Token) End(w *Waiter) Ready {
	switch {
	case t.holder != w && t.state != Free:
		return Ready{}
	case t.holder == w && w.role == serving && t.asleep.first == nil && !t.failed:
		return Ready{}
	}
	return t.giveOn()
}

// Lent is the event that the driver has carried out Lend. armed says whether the transports
// are armed.
func (t *Token) Lent(armed bool) Ready {
	if !armed {
		return Ready{Do: Ring}
	}
	t.state, t.holder = Asleep, t.asleep.first
	return Ready{}
}

// Rouse is the event that w has to check whether its wait is over.
func (t *Token) Rouse(w *Waiter) Ready {
	switch {
	case w.parked:
		return t.unpark(w)
	case w.asleep:
		return Ready{Do: Ring}
	}
	return Ready{}
}

// Urge is the event that a frame was queued that only a poll can send.
func (t *Token) Urge() Ready {
	if t.state == Asleep || t.state == Idle {
		return Ready{Do: Ring}
	}
	return Ready{}
}

// Dislodge is the event that a nonblocking call is about to poll. The background ends its
// sleep and disarms, so that senders do not have to ring a rank that is active.
func (t *Token) Dislodge() Ready {
	if t.state != Idle {
		return Ready{}
	}
	t.state, t.holder = Free, nil
	return Ready{Do: Disarm | Ring}
}

// Fail is the event that every wait ends. The driver rouses the waiting goroutines.
func (t *Token) Fail() { t.failed = true }

// Close is the event that the background ends.
func (t *Token) Close() Ready {
	t.closed, t.rests = true, false
	if t.state == Idle {
		return Ready{Do: Resume | Ring}
	}
	return Ready{Do: Resume}
}

// Wreck frees the token after a panic of the goroutine that has it.
func (t *Token) Wreck() { t.state, t.holder = Free, nil }

// claim gives w the token if it is free or its holder sleeps.
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

// giveOn takes the token from its holder and passes it to the next goroutine.
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
