package progress

// State is the state of the token: which goroutine has it, and whether that goroutine polls.
type State uint8

// The states. A goroutine may also sleep without the token, after another goroutine has taken the
// token from it.
const (
	// Free: no goroutine has the token.
	Free State = iota
	// Polling: a waiting goroutine has the token and polls.
	Polling
	// Serving: the serving goroutine has the token and polls.
	Serving
	// Draining: the background goroutine has the token and polls.
	Draining
	// Asleep: a waiting goroutine or the serving one sleeps with the token. The transports are
	// armed.
	Asleep
	// Idle: the background goroutine sleeps with the token. The transports are armed.
	Idle
	// Working: the serving goroutine has the token and runs handlers, outside of the engine. No
	// goroutine polls.
	Working
)

// stateNames are the names of the states.
var stateNames = [...]string{
	Free: "Free", Polling: "Polling", Serving: "Serving", Draining: "Draining",
	Asleep: "Asleep", Idle: "Idle", Working: "Working",
}

// String returns the name of the state.
func (s State) String() string { return stateNames[s] }

// Do is a set of actions that the driver (package engine) carries out immediately after an event, in
// the order of the constants below.
type Do uint8

// The actions after an event.
const (
	// Disarm: disarm the transports.
	Disarm Do = 1 << iota
	// Resume: end the Pause or Rest of the background goroutine.
	Resume
	// Ring: ring the Sleeper.
	Ring
	// Lend: return the token to a goroutine that sleeps without it. Prepare the Sleeper, arm the
	// transports, check the words of Words, and call Lent to report whether the transports are
	// armed.
	Lend
)

// Ready is what the driver has to do after an event: the actions of Do in the order of their bits,
// and Wake just before Ring.
type Ready struct {
	Do Do
	// Wake is the goroutine whose Park ends, or nil.
	Wake *Waiter
}

// Token is the poll token of one rank. Most of its methods are events. The caller serializes the calls
// of all methods. Init must be called first.
type Token struct {
	state  State
	woke   bool    // a goroutine was made runnable since the last Woken
	failed bool    // Fail was called
	closed bool    // Close was called
	rests  bool    // the background goroutine rests until Resume
	holder *Waiter // the goroutine that has the token, or nil
	calls  uint64  // number of calls of Called

	asleep list // goroutines in Sleep, with or without the token, except the background goroutine
	parked list
	words  list // members of asleep and parked with Word
	server *Waiter

	background        Waiter
	callsSeen         uint64 // value of calls when the background goroutine last paused
	shifts, shiftSeen uint64 // number of calls of Work; its value at the last tick
}

// Init initializes the token.
func (t *Token) Init() {
	t.words.which = placeWord
	t.background.role = background
}

// State returns the state.
func (t *Token) State() State { return t.state }

// Has reports whether w has the token.
func (t *Token) Has(w *Waiter) bool { return t.holder == w }

// Called counts a call of the program into the engine. While the program makes calls, the
// background goroutine does not sleep with the token.
func (t *Token) Called() { t.calls++ }

// Calls returns how often Called was called.
func (t *Token) Calls() uint64 { return t.calls }

// Woken reports whether a goroutine was made runnable since the last call of Woken.
func (t *Token) Woken() bool {
	woke := t.woke
	t.woke = false
	return woke
}

// Stirred reports the same as Woken without resetting it.
func (t *Token) Stirred() bool { return t.woke }

// Crowded reports whether a goroutine is parked.
func (t *Token) Crowded() bool { return t.parked.first != nil }

// Words returns the first goroutine in the list of those that are parked or asleep and wait for a
// word of memory, or nil. NextWord returns the others.
func (t *Token) Words() *Waiter { return t.words.first }

// NextWord returns the waiter that follows w in the list of Words, or nil.
func (w *Waiter) NextWord() *Waiter { return w.places[placeWord].next }

// TryBegin takes the token for w if the token is free, and reports whether it has taken the token. It
// is the first part of Begin, separate so that the compiler inlines it.
func (t *Token) TryBegin(w *Waiter) bool {
	if t.state != Free {
		return false
	}
	t.state, t.holder = Polling+State(w.role), w
	return true
}

// Begin is the event that the wait of w begins. It returns whether w has got the token. With the
// token, the goroutine polls a few times and then calls End or Next. Without it, the goroutine
// calls Next. Begin takes the token even from the serving goroutine, so that a goroutine that often
// waits polls for itself. The serving goroutine need not be told, because it checks whether it has
// the token before it polls.
func (t *Token) Begin(w *Waiter) (bool, Ready) {
	if t.state == Serving || t.state == Working {
		t.take(w)
		return true, Ready{}
	}
	return t.claim(w)
}

// TryEnd ends the wait of w if w has the token, is not the serving goroutine, and no other goroutine is
// asleep or parked. It reports whether it has ended the wait. It is the first part of End, separate so that the compiler
// inlines it.
func (t *Token) TryEnd(w *Waiter) bool {
	if t.state != Polling || t.holder != w || t.asleep.first != nil || t.parked.first != nil {
		return false
	}
	t.state, t.holder = Free, nil
	return true
}

// End is the event that the wait of w has ended. If w has the token, or the token is free, the token
// goes to a goroutine that sleeps without it. That goroutine continues to sleep. If no goroutine
// sleeps, a parked goroutine is woken to take the token. If the wait of that goroutine is over, too,
// its own End wakes the next one. The serving goroutine keeps the token if no goroutine sleeps,
// unless Fail was called.
func (t *Token) End(w *Waiter) Ready {
	switch {
	case t.holder != w && t.state != Free:
		return Ready{}
	case t.holder == w && w.role == serving && t.asleep.first == nil && !t.failed:
		return Ready{}
	}
	return t.giveOn()
}

// Lent is the event that the driver has carried out Lend. armed is true if the transports are armed.
// If they are not, because there is something to poll for or to send, a ring wakes the sleeping
// goroutines.
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

// Urge is the event that there is work that only a poll does, such as sending a queued frame. If the
// goroutine with the token sleeps, the result is Ring.
func (t *Token) Urge() Ready {
	if t.state == Asleep || t.state == Idle {
		return Ready{Do: Ring}
	}
	return Ready{}
}

// Dislodge is the event that a nonblocking call is about to poll. If the background goroutine
// sleeps, its sleep ends, and the transports are disarmed, so that senders need not ring a rank
// that is active.
func (t *Token) Dislodge() Ready {
	if t.state != Idle {
		return Ready{}
	}
	t.state, t.holder = Free, nil
	return Ready{Do: Disarm | Ring}
}

// Fail is the event that the engine has ended. Then all waits end, except those for requests whose bytes
// a transport is still moving. The driver calls Rouse for the waiting goroutines.
func (t *Token) Fail() { t.failed = true }

// Close is the event that the background goroutine has to end.
func (t *Token) Close() Ready {
	t.closed, t.rests = true, false
	if t.state == Idle {
		return Ready{Do: Resume | Ring}
	}
	return Ready{Do: Resume}
}

// Wreck is the event that a panic has ended the engine. The token is free afterwards.
func (t *Token) Wreck() { t.state, t.holder = Free, nil }

// claim gives w the token if w has it already, if the token is free, or if its holder sleeps. It
// returns whether w has the token.
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

// take makes w the holder of the token. w is awake.
func (t *Token) take(w *Waiter) { t.state, t.holder = Polling+State(w.role), w }

// giveOn takes the token from its holder and passes it on. If a goroutine sleeps, Lend gives it the
// token. Otherwise the first parked goroutine is woken.
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

// unpark ends the Park of w, which is parked.
func (t *Token) unpark(w *Waiter) Ready {
	w.parked = false
	t.parked.remove(w)
	if w.Word {
		t.words.remove(w)
	}
	t.woke = true
	return Ready{Wake: w}
}
