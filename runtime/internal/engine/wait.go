package engine

import (
	"context"
	goruntime "runtime"
	"time"
)

// Polls between two looks at the clock and at others.
const (
	burstSpinning = 64 // about a microsecond
	burstYielding = 8  // ranks outnumber processors: every poll delays others
	yieldsPerLook = 16 // yields between two looks at the clock
	yieldsPerGo   = 8  // yields between two Gosched when nobody is known to wait
)

// Sleeps of a poller that has frames to drive, for which no peer rings.
const (
	backlogFirst = 50 * time.Microsecond
	backlogLast  = time.Millisecond
)

// wait waits until w is over. It returns nil when what w waits for is there, else
// the error of ctx or of the engine; w may then be waited for again. mu is held,
// but given up at times.
func (e *Engine) wait(ctx context.Context, w *waiter) error {
	if w.over() {
		return w.err
	}
	if ctx != nil && ctx.Err() != nil {
		return &CancelError{Op: w.op(), Cause: context.Cause(ctx)}
	}
	if e.err != nil && w.req == nil {
		return e.err
	}
	if e.mail.serving != 0 && e.inline(w) {
		return &CancelError{Op: w.op(), Cause: ErrInline}
	}
	e.within++
	err := e.waitPolling(ctx, w)
	e.within--
	return err
}

// waitPolling is wait for what is not there yet: whoever waits polls.
func (e *Engine) waitPolling(ctx context.Context, w *waiter) error {
	if e.begin(w) {
		budget := 1 // what w waits for is mostly the next to come
		for range e.burstOf(w) {
			got := e.poll(budget)
			if w.over() {
				e.release(w)
				return w.err
			}
			if e.crowd.Load() != 0 || e.poller != w {
				break
			}
			if got > 0 {
				budget = pollBudget
			}
		}
	}
	return e.waitLong(ctx, w)
}

// waitLong is wait for a goroutine that has polled in vain: it is listed among
// the blocked and gives way to others.
func (e *Engine) waitLong(ctx context.Context, w *waiter) error {
	if e.err != nil && w.req == nil { // it ended at one of these polls
		e.release(w)
		return e.err
	}
	w.since = time.Now()
	w.slept, w.depth = false, 0
	e.blocked.push(w)
	var stop func() bool
	if ctx != nil && ctx.Done() != nil {
		era := w.era
		stop = context.AfterFunc(ctx, func() { e.expire(ctx, w, era) })
	}
	for since := w.since; ; since = time.Now() {
		if e.take(w) {
			e.pollFor(w, since)
		} else {
			e.park(w)
		}
		if w.over() { // before the look at the clock, which takes as long as an arrival
			break
		}
	}
	e.release(w)
	e.blocked.remove(w)
	w.era++
	if stop != nil {
		stop()
	}
	err := w.err
	w.err = nil
	return err
}

// expire ends the wait of a context that is done.
func (e *Engine) expire(ctx context.Context, w *waiter, era uint32) {
	e.lock()
	defer e.unlock()
	if w.era == era && !w.fired && w.err == nil {
		w.err = &CancelError{Op: w.op(), Cause: context.Cause(ctx)}
		e.rouse(w)
	}
}

// begin is take for a wait that begins: the serving goroutine, which keeps the
// token, gives way, so that a goroutine that receives again and again polls for
// itself. It need not be told, it sees for itself.
func (e *Engine) begin(w *waiter) bool {
	if p := e.poller; p != nil && p.serves && !p.asleep {
		e.poller = w
	}
	return e.take(w)
}

// take makes w the poller, if nobody is or if the poller sleeps.
func (e *Engine) take(w *waiter) bool {
	switch p := e.poller; {
	case p == nil || p == w:
	case !p.asleep:
		return false
	default:
		e.dislodge()
		e.disarm()
	}
	e.poller = w
	return true
}

// dislodge ends the background's sleep as the poller, so that senders do not find
// this rank armed while it is at work.
func (e *Engine) dislodge() {
	if b := &e.background.waiter; e.poller == b && b.asleep {
		e.disarm()
		e.poller = nil
		e.sleeper.Ring()
	}
}

// release gives the token on: to one who sleeps, by arming on his behalf without
// waking him, or else to one who is parked. The serving goroutine keeps it.
func (e *Engine) release(w *waiter) {
	if e.poller != w || w.serves && e.asleep.head == nil && e.err == nil {
		return
	}
	e.giveOn()
}

// giveOn takes the token from whoever has it and gives it on, see release.
func (e *Engine) giveOn() {
	e.poller = nil
	if s := e.asleep.head; s != nil {
		e.ask()
		if len(e.backlog) == 0 && e.arm() {
			e.poller = s
			return
		}
		e.sleeper.Ring()
		return
	}
	if e.parked.head != nil {
		e.rouse(e.parked.head)
	}
}

// pollFor polls as the poller until w is over or another goroutine has borrowed
// the token during a sleep: it spins, then yields, then sleeps, and starts anew
// whenever polling finds something. since is when the waiting began.
func (e *Engine) pollFor(w *waiter, since time.Time) {
	spinning, nap := e.cfg.Wait.Spin > 0 && !w.slept, backlogFirst
	for turn := uint(1); e.poller == w; turn++ {
		got := e.pollBurst(w)
		if w.over() {
			return
		}
		e.ask()
		if got > 0 {
			w.slept, nap = false, backlogFirst
			spinning, since = e.cfg.Wait.Spin > 0, time.Now()
		}
		if spinning {
			spinning = time.Since(since) < e.cfg.Wait.Spin
			e.pulse()
			continue
		}
		if !w.slept && (turn%yieldsPerLook != 0 || time.Since(since) < e.cfg.Wait.Spin+e.cfg.Wait.Yield) {
			e.yield(turn)
			continue
		}
		if e.sleep(w, nap) {
			nap = min(2*nap, backlogLast)
		} else {
			e.yield(turn)
		}
	}
}

// burstOf returns how often the poller polls for w before it looks around. Where
// ranks outnumber processors, what makes a word of shared memory change needs the
// processor that polling for it takes; a message is mostly on its way.
func (e *Engine) burstOf(w *waiter) int {
	if w.done != nil && e.cfg.Wait.Spin <= 0 {
		return 1
	}
	return e.burst
}

// pollBurst polls until w is over or somebody else should have a look.
func (e *Engine) pollBurst(w *waiter) int {
	got := 0
	for range e.burstOf(w) {
		got += e.poll(pollBudget)
		if w.over() || e.woke || e.crowd.Load() != 0 {
			break
		}
	}
	return got
}

// pulse lets in whoever waits for the lock or was made runnable.
func (e *Engine) pulse() {
	crowd := e.woke || e.crowd.Load() != 0
	e.woke = false
	defer e.stepIn(e.stepOut())
	if crowd {
		goruntime.Gosched()
	}
}

// yield lets other goroutines run, then other processes.
func (e *Engine) yield(turn uint) {
	others := e.woke || e.crowd.Load() != 0 || e.parked.head != nil || turn%yieldsPerGo == 0
	e.woke = false
	defer e.stepIn(e.stepOut())
	if others {
		goruntime.Gosched()
	}
	e.sleeper.Yield()
}

// sleep sleeps until an arrival, or not longer than nap when there are frames to
// drive. It returns false, at once, when there is something to poll for.
func (e *Engine) sleep(w *waiter, nap time.Duration) bool {
	ticket := e.sleeper.Prepare()
	if !e.arm() {
		return false
	}
	e.ask()
	if w.over() || e.woke {
		e.disarm()
		return false
	}
	w.locate()
	nanos := int64(-1)
	if len(e.backlog) > 0 {
		nanos = int64(nap)
	}
	w.asleep, w.slept = true, true
	e.asleep.push(w)
	if w.done != nil && !w.serves {
		e.asking++
	}
	e.doze(ticket, nanos)
	if w.done != nil && !w.serves {
		e.asking--
	}
	w.asleep = false
	e.asleep.remove(w)
	if e.poller == w {
		e.disarm()
	}
	e.unparkBackground()
	return true
}

// doze is Sleeper.Sleep, and lets others in meanwhile.
func (e *Engine) doze(ticket uint32, nanos int64) {
	defer e.stepIn(e.stepOut())
	e.sleeper.Sleep(ticket, nanos)
}

// arm asks every transport to ring. It returns false, with none armed, when one
// has something to poll for.
func (e *Engine) arm() bool {
	if len(e.mail.bundles.open) > 0 {
		e.sendBundles()
	}
	for i, t := range e.cfg.Transports {
		if !t.Arm() {
			for _, u := range e.cfg.Transports[:i] {
				u.Disarm()
			}
			return false
		}
	}
	e.armed = true
	return true
}

// disarm is the inverse of arm.
func (e *Engine) disarm() {
	if !e.armed {
		return
	}
	e.armed = false
	for _, t := range e.cfg.Transports {
		t.Disarm()
	}
}

// urge makes sure that somebody drives what was just queued.
func (e *Engine) urge() {
	if e.poller != nil && e.poller.asleep {
		e.sleeper.Ring()
	}
}

// nothing counts a nonblocking call that found nothing, for rest.
func (e *Engine) nothing() (idle uint) {
	e.idle++
	return e.idle
}

// rest gives way now and then after nonblocking calls that found nothing, idle of them
// in a row: callers tend to try again at once. mu is not held.
func (e *Engine) rest(idle uint) {
	if idle == 0 {
		return
	}
	if idle%16 == 0 {
		goruntime.Gosched()
	}
	if idle%64 == 0 || e.cfg.Wait.Spin <= 0 && idle%8 == 0 {
		e.sleeper.Yield()
	}
}

// Await polls until done returns true, or ctx or the engine ends. done is called
// with the engine's lock held, often: it reads a word of memory and must not call
// the engine. Who makes it true rings the Sleeper. what is for Blocked.
func (e *Engine) Await(ctx context.Context, done func() bool, pc uintptr, what string) error {
	e.lock()
	defer e.unlock()
	e.background.activity++
	w := e.newWaiter()
	w.done, w.pc, w.what = done, pc, what
	err := e.wait(ctx, w)
	e.freeWaiter(w)
	return err
}
