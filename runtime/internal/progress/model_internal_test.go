//go:build !race

package progress

import (
	"fmt"
	"strings"
)

// The model of a rank has the token, the lock, the Sleeper's tickets, and the state of the transports: armed or not.
// It also has the goroutines of the driver, as programs of steps, and events from outside of the engine (of peers and
// the program). A goroutine that needs the lock cannot run during a step of another goroutine. Arrivals and changes
// of words do not need the lock and can occur between any two steps. The other events from outside can occur only
// while no goroutine holds the lock.

// Indices of the goroutines.
const (
	modelWaiters  = 3
	modelServer   = modelWaiters
	modelBack     = modelWaiters + 1
	modelCaller   = modelWaiters + 2
	modelRoutines = modelWaiters + 3
)

// kind says what a goroutine waits for.
type kind uint8

const (
	absent  kind = iota
	message      // waits for an arrival
	word         // waits for a word of shared memory
	present      // the server, the background goroutine or the caller
)

// at is the point that a goroutine has reached in its program.
type at uint8

const (
	atStart at = iota // has not begun, and can begin at any time
	atFirst           // polls for the first time
	atPoll
	atPrepare // atPrepare, atArm and atLook are the steps of Arm
	atArm
	atLook
	atSleep
	atPark
	atPause
	atRest
	atWork
	atWant // wants to take the lock again
	atServe
	atEnd
)

// routine is the state of a goroutine.
type routine struct {
	kind     kind
	at       at
	action   Action
	armed    bool // the result of Arm
	open     bool // it has a ticket, so that a Ring reaches it
	rung     bool // it was rung since Prepare
	naps     bool // its sleep is at most a nap long
	signal   bool // its channel has a value
	fired    bool
	canceled bool // the error of its context is set
	word     bool // its word has the expected value
	ringing  bool // the goroutine that changed the word has not rung yet
	told     bool // the driver has told it of the engine's end
}

// flaw is a defect of the driver that the test of the search introduces.
type flaw uint8

const (
	flawless flaw = iota
	prepareLate
	askNone
	askParkedOnly
	lendBlindly
	fireQuietly
	tellListedOnly
	resumeNone
	keepArmed
	ringBeforeWord
	sleepOver
)

// world is a state of the model.
type world struct {
	token    Token
	places   [modelServer + 1]Waiter
	routines [modelRoutines]routine
	lock     int8 // the holder of the lock, -1 for none

	arrivals [4]int8 // the goroutine of each arrival, in order
	queued   int8
	coming   [2]int8 // the goroutine of each later arrival, -1 for none, or failing
	ready    int8    // arrivals that the server has to process
	armed    bool    // whether the transports are armed

	// Events that are still to come: the end of waiter 0's context, a failure, the close.
	cancels, aborts, closes bool
	posts                   bool // still to come: a frame that only a poll can send
	backlog                 bool
	failed, closed          bool
	flaw                    flaw
	fault                   string // an error that no correct driver makes
	seen                    *transitions
}

// transition is an event with the states before and after it, and the actions that it requests.
type transition struct {
	event    string
	from, to State
	does     Do
	wakes    bool
}

// transitions is the set of transitions that a search has found.
type transitions map[transition]bool

// event carries out the actions that an event requests, and records the transition.
func (w *world) event(name string, from State, r Ready) {
	w.seen.note(transition{name, from, w.token.state, r.Do, r.Wake != nil})
	w.obey(r)
}

// tell reports an event to the token.
func (w *world) tell(name string, event func() Ready) {
	from := w.token.state
	w.event(name, from, event())
}

// note adds a transition.
func (s *transitions) note(t transition) {
	if s != nil && !(*s)[t] {
		(*s)[t] = true
	}
}

// failing is an arrival that means a failure of the transport.
const failing = 100

// newWorld makes the first state of a search.
func newWorld(c bounds) *world {
	w := &world{lock: -1, coming: c.arrivals, cancels: c.cancel, aborts: c.abort, closes: c.closes, posts: c.post, flaw: c.flaw, seen: c.seen}
	w.token.Init()
	for i := range w.places {
		w.places[i].Of = i
	}
	for i, k := range c.waiters {
		w.routines[i].kind = k
		w.places[i].Word = k == word
	}
	w.places[modelServer].Word = true
	if c.server {
		w.routines[modelServer].kind = present
	}
	if c.background {
		w.routines[modelBack].kind = present
	}
	if c.call {
		w.routines[modelCaller].kind = present
	}
	return w
}

// clone copies the world.
func (w *world) clone() *world {
	n := new(world)
	*n = *w
	n.move(w)
	return n
}

// move makes the pointers in a copy refer to the copy.
func (w *world) move(from *world) {
	relocate := func(p *Waiter) *Waiter {
		switch {
		case p == nil:
			return nil
		case p == &from.token.background:
			return &w.token.background
		}
		return &w.places[p.Of.(int)]
	}
	t := &w.token
	t.holder, t.server = relocate(t.holder), relocate(t.server)
	for _, l := range []*list{&t.asleep, &t.parked, &t.words} {
		l.first, l.last = relocate(l.first), relocate(l.last)
	}
	for i := range w.places {
		for j := range w.places[i].places {
			p := &w.places[i].places[j]
			p.next, p.prev = relocate(p.next), relocate(p.prev)
		}
	}
}

// over reports whether the wait of goroutine i has ended.
func (w *world) over(i int) bool {
	r := &w.routines[i]
	failed := w.failed
	if w.flaw == tellListedOnly {
		failed = r.told
	}
	switch {
	case i == modelServer:
		return w.ready > 0 || failed
	case r.kind == word:
		return r.fired || r.canceled || r.word || failed
	}
	return r.fired || r.canceled
}

// ring rings the Sleeper.
func (w *world) ring() {
	for i := range w.routines {
		if w.routines[i].open {
			w.routines[i].rung = true
		}
	}
}

// arm arms the transports. It fails if an arrival is queued.
func (w *world) arm() bool {
	w.armed = w.queued == 0
	return w.armed
}

// obey carries out the actions that an event requests.
func (w *world) obey(r Ready) {
	if r.Do&Disarm != 0 && w.flaw != keepArmed {
		w.armed = false
	}
	if r.Do&Resume != 0 && w.flaw != resumeNone {
		w.routines[modelBack].signal = true
	}
	if r.Wake != nil {
		g := &w.routines[r.Wake.Of.(int)]
		if g.signal {
			w.fault = "a goroutine is woken twice"
		}
		g.signal = true
	}
	if r.Do&Ring != 0 {
		w.ring()
	}
	if r.Do&Lend != 0 {
		armed := !w.backlog && w.arm()
		if w.flaw != lendBlindly {
			w.ask()
		}
		from := w.token.state
		w.event(map[bool]string{true: "Lent(true)", false: "Lent(false)"}[armed], from, w.token.Lent(armed))
	}
}

// ask ends the waits for words that have their expected values.
func (w *world) ask() {
	if w.flaw == askNone {
		return
	}
	for p := w.token.Words(); p != nil; {
		next := p.NextWord()
		i := p.Of.(int)
		if !w.routines[i].fired && w.over(i) && (w.flaw != askParkedOnly || p.parked) {
			w.fire(i)
		}
		p = next
	}
}

// fire ends the wait of goroutine i.
func (w *world) fire(i int) {
	w.routines[i].fired = true
	if w.flaw != fireQuietly {
		w.tell("Rouse", func() Ready { return w.token.Rouse(&w.places[i]) })
	}
}

// fail ends every wait.
func (w *world) fail() {
	if w.failed {
		return
	}
	w.failed = true
	w.token.Fail()
	for i := range w.places {
		g := &w.routines[i]
		if g.at == atStart || g.at == atEnd {
			continue
		}
		if g.kind == message {
			w.fire(i)
			continue
		}
		// The driver reports the failure to the goroutines in its list of long waits.
		g.told = g.at != atFirst
		w.tell("Rouse", func() Ready { return w.token.Rouse(&w.places[i]) })
	}
}

// poll takes arrivals from the queue. The argument most is the largest number that it takes.
func (w *world) poll(most int8) {
	w.backlog = false
	for ; w.queued > 0 && most > 0; most-- {
		to := w.arrivals[0]
		copy(w.arrivals[:], w.arrivals[1:])
		w.queued--
		switch {
		case to == failing:
			w.fail()
		case to == modelServer:
			w.ready++
			w.tell("Call", func() Ready { return w.token.Call() })
		case w.routines[to].kind == word: // words are not reported to the token
			w.routines[to].word = true
		case !w.routines[to].fired:
			w.fire(int(to))
		}
	}
}

// pollOnce is the poll of a call that does not wait.
func (w *world) pollOnce() {
	w.token.Called()
	w.tell("Dislodge", func() Ready { return w.token.Dislodge() })
	w.poll(64)
}

// String describes the state.
func (w *world) String() string {
	var s strings.Builder
	fmt.Fprint(&s, w.token.state)
	if h := w.token.holder; h != nil {
		fmt.Fprintf(&s, " of %s", names[w.index(h)])
	}
	if w.armed {
		s.WriteString(", armed")
	}
	if w.queued > 0 {
		fmt.Fprintf(&s, ", %d arrived", w.queued)
	}
	for i := range w.routines {
		g := &w.routines[i]
		text := ""
		switch {
		case g.at == atSleep && g.rung, (g.at == atPark || g.at == atPause || g.at == atRest) && g.signal:
			text = "woken"
		case g.at == atSleep:
			text = "sleeps"
		case g.at == atPark:
			text = "parked"
		case g.at == atPause:
			text = "pauses"
		case g.at == atRest:
			text = "rests"
		case g.at == atWork:
			text = "works"
		case g.at == atEnd:
			text = "ended"
		}
		if text != "" {
			fmt.Fprintf(&s, "; %s %s", names[i], text)
		}
	}
	return s.String()
}

// names has the names of the goroutines.
var names = [modelRoutines]string{"0", "1", "2", "server", "background", "caller"}
