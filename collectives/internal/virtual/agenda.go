package virtual

// kind is the kind of an event.
type kind uint8

const (
	// runs: the rank has its processor and continues. wakes: the rank begins, or its wait is over;
	// the rank continues when it gets its processor.
	runs kind = iota
	wakes
	// offers: the announcement of a rendezvous message reaches the receiver. leaves: the message
	// may enter the sender's link. arrives: the first byte of the message is at the receiver's link.
	offers
	leaves
	arrives
)

// event is something that happens to a rank or to a message. The field at is the time of the event.
type event struct {
	at   Time
	turn uint64 // order of insertion, which decides between events of the same time
	kind kind
	rank *Rank
	msg  *envelope
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.turn < o.turn }

// agenda is the priority queue of the events to come. It is a heap in which an event has four
// children, so that the heap has fewer levels than a binary heap. The children of an event are
// adjacent in memory.
type agenda struct {
	events []event
	turn   uint64
}

const children = 4

func (a *agenda) empty() bool { return len(a.events) == 0 }

// first returns the time of the next event. The agenda must not be empty.
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

// next removes the earliest event and returns it. The agenda must not be empty.
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
