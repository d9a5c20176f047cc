package progress

// Waiter is a goroutine's place at the token, which the driver embeds in its record of
// a wait. It must not be copied while the goroutine waits.
type Waiter struct {
	role   role
	last   Action // the last result of Next or NextBackground
	parked bool   // in Token.parked
	asleep bool   // in Token.asleep

	// Word says that the wait is for a word of memory. Its change is not an event: the driver
	// checks the words of all waiters of Token.Words.
	Word bool
	// Of is the driver's record.
	Of any

	places [places]place
}

// role is the role of the goroutine. The token's state is Polling + role while its holder is
// awake: Polling, Serving or Draining.
type role uint8

const (
	ordinary role = iota
	serving
	background
)

// Awake reports whether the goroutine neither sleeps nor is parked.
func (w *Waiter) Awake() bool { return !w.parked && !w.asleep }

// The lists that a waiter can be in.
const (
	placeResting = iota // asleep or parked
	placeWord           // and Word
	places
)

// place holds the links of one list.
type place struct{ next, prev *Waiter }

// list is a list of waiters in order of arrival.
type list struct {
	which       int
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

// remove takes w out; it must be in.
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
