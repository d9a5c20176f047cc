package simulate

import (
	"container/heap"
	"time"
)

// event is something that happens in the network.
type event struct {
	at   time.Duration // since the beginning
	pair *pair         // whose event it is
	turn uint64        // its number among those of the pair
	fire func()        // with the network's lock held
}

// before orders events: no two are equal, whatever order they were made in.
func (e *event) before(o *event) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	if e.pair != o.pair {
		return e.pair.number < o.pair.number
	}
	return e.turn < o.turn
}

// agenda are the events to come, the next one first.
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
