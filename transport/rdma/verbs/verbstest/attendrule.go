package verbstest

import (
	"context"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/transport/rdma/verbs"
)

// attendRules contains the rules on consumers whose own goroutine sleeps in the adapter (Adapter.Attend).
var attendRules = []statement{
	{0, "arrivals_end_a_doze", testDoze},
	{0, "rouse_and_time_end_a_doze", func(r *rig) {
		r.a.adapter.Attend(true)
		r.that(r.a.receives.Arm(func() {}), "not armed")
		r.a.adapter.Rouse()
		for range 3 { // a Doze may end early, and the first one has to end
			r.that(r.a.adapter.Doze(time.Now().Add(time.Millisecond)), "no sleep")
		}
		r.is("wait", r.a.receives.Wait(context.Background(), 1), verbs.ErrInvalidState)
		r.a.receives.Disarm()
		r.a.adapter.Attend(false)
		r.that(!r.a.adapter.Doze(time.Time{}), "a sleep in an adapter that is not attended")
	}},
	{0, "closing_the_adapter_ends_a_doze", func(r *rig) {
		r.a.adapter.Attend(true)
		r.that(r.a.receives.Arm(func() {}), "not armed")
		var dozer sync.WaitGroup
		dozer.Go(func() {
			for r.a.adapter.Doze(time.Time{}) {
			}
		})
		r.ok("close", r.a.adapter.Close())
		dozer.Wait()
	}},
}

// testDoze sends messages to a side whose only goroutine sleeps in the adapter until each message arrives.
func testDoze(r *rig) {
	const messages = 50
	m := r.connected()
	r.talk(m)
	r.p.adapter.Attend(true)
	for id := range uint64(messages) {
		r.p.receive(m.passive, id, 0, 8)
		arrived := make(chan verbs.Completion, 1)
		go func() { arrived <- r.p.dozeUntil(r.p.receives) }()
		r.a.send(m.active, id, 0, 8)
		c := <-arrived
		r.that(c.ID == id && c.Status == verbs.StatusSuccess, "message %d: completion %d, %v", id, c.ID, c.Status)
		r.a.done(m.active, verbs.StreamRequest, id, verbs.StatusSuccess)
	}
}

// dozeUntil sleeps in the adapter until the queue has an entry, and returns the entry. If the queue dies, it returns
// the zero entry.
func (s *side) dozeUntil(q *verbs.CompletionQueue) verbs.Completion {
	var into [1]verbs.Completion
	for q.Poll(into[:]) == 0 && q.Err() == nil {
		if q.Arm(func() {}) {
			s.adapter.Doze(time.Time{})
			q.Disarm()
		}
	}
	return into[0]
}
