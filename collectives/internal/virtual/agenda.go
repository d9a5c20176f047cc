package virtual

// kind is what happens in an event.
type kind uint8

const (
	// runs: the rank goes on, it has its processor. wakes: the rank has what it waited for.
	runs kind = iota
	wakes
	// offers: the announcement of a message is at its receiver. leaves: the message is ready
	// for the sender's link. arrives: its first byte is at the receiver's link.
	offers
	leaves
	arrives
)

// event is something that happens at a time, to a rank or to a message.
type event struct {
	at   Time
	turn uint64 // among events of the same time the order in which they were entered
	kind kind
	rank *Rank
	msg  *envelope
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.turn < o.turn }

// agenda holds what is going to happen: a heap in which a node has four children, fewer levels
// than a binary one, with siblings side by side in memory.
type agenda struct {
	events []event
	turn   uint64
}

const children = 4

func (a *agenda) empty() bool { return len(a.events) == 0 }

// first returns the time of the next event; the agenda is not empty.
func (a *agenda) first() Time { return a.events[0].at }

func (a *agenda) add(e event) {
	e.turn = a.turn
	a.turn++
	a.events = append(a.events, e)
	i := len(a.events) - 1
	for i > 0 {
		up := (i - 1) / children
		if !e.before(&a.events[up]) {
			break
		}
		a.events[i] = a.events[up]
		i = up
	}
	a.events[i] = e
}

// next removes the first event and returns it.
func (a *agenda) next() event {
	top := a.events[0]
	last := len(a.events) - 1
	e := a.events[last]
	a.events[last] = event{}
	a.events = a.events[:last]
	if last == 0 {
		return top
	}
	i := 0
	for {
		least := children*i + 1
		if least >= last {
			break
		}
		for c := least + 1; c < min(children*i+1+children, last); c++ {
			if a.events[c].before(&a.events[least]) {
				least = c
			}
		}
		if !a.events[least].before(&e) {
			break
		}
		a.events[i] = a.events[least]
		i = least
	}
	a.events[i] = e
	return top
}
