package engine

import "time"

// tick is how long the engine goes without a look at its transports while its rank
// computes after recent calls; a rank without calls for that long sleeps until an
// arrival.
const tick = 10 * time.Millisecond

// background is the goroutine that serves arrivals when nobody waits.
//
// While calls come it looks around once per tick, so that it costs a ping-pong
// nothing. After a tick without calls it becomes the poller and sleeps in the
// Sleeper's Idle, armed, so that a goroutine that computes keeps Go's processor; the
// next call that polls takes the token from it. While a caller sleeps as the poller it
// is parked and costs nothing at all.
type background struct {
	waiter   waiter
	activity uint64 // calls so far
	seen     uint64 // calls at the last tick
	started  bool
	closing  bool
	parked   bool
	wake     chan struct{} // ends a tick or a park
	ended    chan struct{}
}

// Start begins background progress. Close ends it.
func (e *Engine) Start() {
	e.lock()
	defer e.unlock()
	b := &e.background
	if b.started || b.closing {
		return
	}
	b.started = true
	go e.runBackground()
}

// runBackground is the goroutine.
func (e *Engine) runBackground() {
	b := &e.background
	defer close(b.ended)
	timer := time.NewTimer(tick)
	defer timer.Stop()
	pause := tick
	for e.lookAround(&pause) {
		if pause == 0 {
			<-b.wake
			pause = tick
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-b.wake:
		}
	}
}

// lookAround is what the background does at each tick. pause becomes the time until the
// next one, 0 while a caller sleeps as the poller. It returns false when the engine closes.
func (e *Engine) lookAround(pause *time.Duration) bool {
	e.lock()
	defer e.unlock()
	b := &e.background
	switch {
	case b.closing:
		return false
	case e.asleep.head != nil:
		b.parked, *pause = true, 0
		return true
	}
	if e.mail.overdue(e.poller) {
		e.giveOn()
	}
	if e.poller == nil {
		e.serve(b.seen)
	}
	b.seen = b.activity
	if *pause = tick; len(e.backlog) > 0 {
		*pause = backlogLast
	}
	return true
}

// serve polls until nothing moves. When no call came since seen it goes on from
// there asleep, until one comes.
func (e *Engine) serve(seen uint64) {
	b := &e.background
	e.poller = &b.waiter
	for e.poller == &b.waiter && !b.closing {
		e.drain()
		if b.activity != seen || e.parked.head != nil || b.closing {
			break
		}
		ticket := e.sleeper.Prepare()
		if !e.arm() {
			e.yield(yieldsPerGo)
			continue
		}
		nanos := int64(-1)
		if len(e.backlog) > 0 {
			nanos = int64(backlogLast)
		}
		b.waiter.asleep = true
		e.dozeIdle(ticket, nanos)
		b.waiter.asleep = false
		if e.poller == &b.waiter {
			e.disarm()
		}
	}
	e.release(&b.waiter)
}

// lingerPolls is the number of polls without success after which the background
// leaves Gets and Puts that are under way to later ticks: about a millisecond.
const lingerPolls = 1000

// drain polls until two polls in a row find nothing, or many while bytes move: to
// let a goroutine that computes run in between would cost a slice of its time. It
// lets callers in.
func (e *Engine) drain() {
	b := &e.background
	for empty := 0; empty < 2 || e.moving > 0 && empty < lingerPolls; {
		if e.poll(pollBudget) > 0 {
			empty = 0
		} else {
			empty++
		}
		if e.parked.head != nil || e.poller != &b.waiter || b.closing {
			return
		}
		switch {
		case e.crowd.Load() != 0:
			e.pulse()
		case empty > 0 && e.moving > 0:
			e.nap()
		}
	}
}

// dozeIdle is Sleeper.Idle, and lets others in meanwhile.
func (e *Engine) dozeIdle(ticket uint32, nanos int64) {
	defer e.stepIn(e.stepOut())
	e.sleeper.Idle(ticket, nanos)
}

// nap is Sleeper.Yield, and lets others in meanwhile.
func (e *Engine) nap() {
	defer e.stepIn(e.stepOut())
	e.sleeper.Yield()
}

// unparkBackground lets the background tick again when no caller sleeps any more.
func (e *Engine) unparkBackground() {
	if e.background.parked && e.asleep.head == nil {
		e.rouseBackground()
	}
}

// rouseBackground ends whatever the background waits for.
func (e *Engine) rouseBackground() {
	b := &e.background
	b.parked = false
	select {
	case b.wake <- struct{}{}:
	default:
	}
	if b.waiter.asleep {
		e.sleeper.Ring()
	}
}
