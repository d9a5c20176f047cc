package simulate

import (
	"container/heap"
	"time"
)

// event is an action of the network at a certain time.
type event struct {
	at   time.Duration // since the start of the job
	pair *pair         // the pair of ranks to which the event belongs
	turn uint64        // number of the event among the events of the pair
	fire func()        // executes the event; called with the network's lock held
}

// before reports whether e fires before o. The order is total. It does not depend on the order in which the
// events of different pairs were made.
func (e *event) before(o *event) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	if e.pair != o.pair {
		return e.pair.number < o.pair.number
	}
	return e.turn < o.turn
}

// agenda is the heap of the events that have not fired yet. The next event is the first element.
type agenda []*event

var _ heap.Interface = (*agenda)(nil)

// Len implements heap.Interface.
func (a agenda) Len() int { return len(a) }

// Less implements heap.Interface.
func (a agenda) Less(i, j int) bool { return a[i].before(a[j]) }

// Swap implements heap.Interface.
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *agenda) Push(x any) { *a = append(*a, x.(*event)) }

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return e
}
