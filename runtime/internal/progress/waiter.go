package progress

// Waiter is the token's record of a waiting goroutine. The driver (package engine) embeds it in its
// own record of the wait. A Waiter must not be copied while its goroutine waits.
type Waiter struct {
	role   role
	last   Action // the last result of Next or NextBackground
	parked bool   // in Token.parked
	asleep bool   // in Token.asleep

	// Word is true if the goroutine waits for a word of memory. A change of the word is not an
	// event, so the driver checks the words of all waiters in the list of Token.Words.
	Word bool
	// Of is the driver's record of the wait. Package progress does not use it.
	Of any

	places [places]place
}

// role is the role of the goroutine. The token's state is Polling + role while its holder polls: Polling,
// Serving or Draining.
type role uint8

const (
	ordinary role = iota
	serving
	background
)

// Awake reports whether the goroutine neither sleeps nor is parked.
func (w *Waiter) Awake() bool { return !w.parked && !w.asleep }

// The indices of Waiter.places. Each list uses the links at one index.
const (
	placeResting = iota // Token.asleep or Token.parked
	placeWord           // Token.words
	places
)

// place holds the links of a waiter in one list.
type place struct{ next, prev *Waiter }

// list is a list of waiters in the order of push.
type list struct {
	which       int // index in Waiter.places of the links of this list
	first, last *Waiter
}

// push appends w.
func (l *list) push(w *Waiter) {
	w.places[l.which] = place{prev: l.last}
	if l.last == nil {
		l.first = w
	} else {
		l.last.places[l.which].next = w
	}
	l.last = w
}

// remove removes w, which must be in the list.
func (l *list) remove(w *Waiter) {
	p := w.places[l.which]
	if p.prev == nil {
		l.first = p.next
	} else {
		p.prev.places[l.which].next = p.next
	}
	if p.next == nil {
		l.last = p.prev
	} else {
		p.next.places[l.which].prev = p.prev
	}
	w.places[l.which] = place{}
}
