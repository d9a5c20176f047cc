package iwarp

import "time"

// timer calls the method expire of its owner when the timer is due. The zero value is not armed.
type timer struct {
	at    time.Time
	owner interface{ expire() }
	place int // index in the heap, from 1; 0 when not armed
}

// timers is a heap of timers. The earliest timer is at index 1. Index 0 is not used.
type timers struct{ heap []*timer }

// earliest returns the time at which the next timer is due. It returns the zero time if no timer is
// armed.
func (h *timers) earliest() time.Time {
	if len(h.heap) < 2 {
		return time.Time{}
	}
	return h.heap[1].at
}

// any reports whether a timer is armed.
func (h *timers) any() bool { return len(h.heap) > 1 }

// set arms a timer, or changes the time of an armed timer.
func (h *timers) set(t *timer, at time.Time) {
	h.stop(t)
	if len(h.heap) == 0 {
		h.heap = append(h.heap, nil)
	}
	t.at, t.place = at, len(h.heap)
	h.heap = append(h.heap, t)
	h.up(t.place)
}

// stop disarms a timer. The timer need not be armed.
func (h *timers) stop(t *timer) {
	if t.place == 0 {
		return
	}
	i, last := t.place, len(h.heap)-1
	h.swap(i, last)
	h.heap[last] = nil
	h.heap = h.heap[:last]
	t.place = 0
	if i < last {
		h.up(i)
		h.down(i)
	}
}

// run disarms the timers that are due and calls their owners. It returns the number of timers that
// were due.
func (h *timers) run(now time.Time) int {
	n := 0
	for len(h.heap) > 1 && !h.heap[1].at.After(now) {
		t := h.heap[1]
		h.stop(t)
		t.owner.expire()
		n++
	}
	return n
}

func (h *timers) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.heap[i].place, h.heap[j].place = i, j
}

func (h *timers) up(i int) {
	for i > 1 && h.heap[i].at.Before(h.heap[i/2].at) {
		h.swap(i, i/2)
		i /= 2
	}
}

func (h *timers) down(i int) {
	for {
		least := i
		for _, child := range []int{2 * i, 2*i + 1} {
			if child < len(h.heap) && h.heap[child].at.Before(h.heap[least].at) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}
