package engine

import (
	"context"
	goruntime "runtime"
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
	"github.com/gorun-hpc/gorun/transport"
)

// WaitPolicy determines how long a waiting goroutine polls before it yields or sleeps.
type WaitPolicy = progress.Policy

// wait waits until w is over. It returns nil on success. Otherwise it returns the error of w, the error of
// the engine, or a *CancelError whose cause is that of ctx or ErrInline. After an error the caller may
// wait for w again. mu is held on entry and return and may be released in between. Package progress decides which
// goroutine polls and sleeps and which one is woken. The engine carries out these decisions.
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

// waitPolling is the part of wait for a w that is not over yet. If it gets the poll token, it polls
// for one burst before it calls waitLong.
func (e *Engine) waitPolling(ctx context.Context, w *waiter) error {
	if e.token.TryBegin(&w.place) || e.begin(w) {
		budget := 1 // usually, the next arrival is what w waits for
		for empty, polls := e.burst.First(e.lookAt(w)), 0; empty > 0 && polls < progress.BurstMost; polls++ {
			got := e.poll(budget)
			if w.over() {
				if !e.token.TryEnd(&w.place) {
					e.obey(e.token.End(&w.place))
				}
				return w.err
			}
			if e.crowd.Load() != 0 || !e.token.Has(&w.place) {
				break
			}
			if got > 0 {
				budget = pollBudget
			} else {
				empty--
			}
		}
	}
	return e.waitLong(ctx, w)
}

// begin reports the beginning of a wait to a token that is not free. It returns whether w has got
// the token.
func (e *Engine) begin(w *waiter) bool {
	has, ready := e.token.Begin(&w.place)
	e.obey(ready)
	return has
}

// waitLong continues a wait that the first polls have not ended. A goroutine that has not got the
// token begins its wait with waitLong. During waitLong, Blocked lists the goroutine.
func (e *Engine) waitLong(ctx context.Context, w *waiter) error {
	w.since, w.depth = time.Now(), 0
	w.limited = ctx != nil && !isInner(ctx) && ctx.Done() != nil
	w.place.Of, w.place.Word = w, w.done != nil
	e.blocked.push(w)
	e.noteWait(w)
	x := expiry{ctx: ctx}
	e.giveWay(w, &x)
	e.blocked.remove(w)
	e.noteResume(w)
	w.era++
	x.end()
	err := w.err
	w.err = nil
	if err == nil && !w.fired && w.req == nil {
		err = e.err
	}
	return err
}

// giveWay asks the poll token for the next action of the goroutine of w and carries it out. It repeats this
// until w is over, or until x ends the wait. If w does not wait for a request, giveWay also
// returns when the engine has ended.
func (e *Engine) giveWay(w *waiter, x *expiry) {
	var in progress.Input
	var ticket uint32
	// since is the time of the latest of these events: w began to wait, its Park ended, its poll found something, or
	// its yield let another process run (Share.Extends).
	since := w.since
	var pace progress.Pace
	pace.Start(e.share.Policy(e.lookAt(w)))
	for {
		x.look(w)
		in.Over = w.over() || e.err != nil && w.req == nil
		action, ready := e.token.Next(&w.place, in)
		e.obey(ready)
		switch action {
		case progress.Done:
			return
		case progress.Poll:
			got := e.pollBurst(w)
			if w.over() {
				continue // without reading the clock, which takes as long as handling an arrival
			}
			e.ask()
			var polled time.Duration
			switch {
			case got > 0:
				since = time.Now()
				e.recorder.Tick(since)
			case pace.Timed():
				now := time.Now()
				e.recorder.Tick(now)
				polled = now.Sub(since)
			}
			in.Pace = pace.Next(got > 0, polled)
		case progress.Spin:
			e.pulse()
		case progress.Yield:
			took := e.yield(pace.Wide(e.lone))
			if e.share.Yielded(took) {
				e.burst.Start(e.share.Policy(progress.Unknown))
				pace.Change(e.share.Policy(e.lookAt(w)))
			}
			if e.share.Extends(took) && time.Since(w.since) < progress.YieldsMost {
				since = time.Now()
			}
		case progress.Arm:
			x.register(e, w)
			ticket = e.sleeper.Prepare()
			if in.Armed = e.arm(); in.Armed {
				e.ask()
			}
		case progress.Sleep:
			e.sleep(w, ticket, pace.Nap())
			e.recorder.Tick(time.Now())
		case progress.Park:
			x.register(e, w)
			e.park(w)
			since = time.Now()
			e.recorder.Tick(since)
			pace.Resume()
		default: // an action of the background goroutine only
		}
	}
}

// obey carries out r, which an event of the token has returned.
func (e *Engine) obey(r progress.Ready) {
	if r.Do&progress.Disarm != 0 {
		e.disarm()
	}
	if r.Do&progress.Resume != 0 {
		e.resumeBackground()
	}
	if r.Wake != nil {
		r.Wake.Of.(*waiter).ch <- struct{}{}
	}
	if r.Do&progress.Ring != 0 {
		e.sleeper.Ring()
	}
	if r.Do&progress.Lend != 0 {
		// Waits for words of memory may have begun after the sleeping goroutine's own Prepare.
		e.sleeper.Prepare()
		if len(e.mail.batches.open) > 0 {
			e.sendBatches() // before the check of backlog, because the lane may refuse a frame
		}
		armed := len(e.backlog) == 0 && e.arm()
		e.ask()
		e.obey(e.token.Lent(armed))
	}
}

// ask calls the function done of every parked or sleeping goroutine that waits for a word of
// shared memory, and ends the wait if done returns true. No event of the token reports a change of
// such a word.
func (e *Engine) ask() {
	for p := e.token.Words(); p != nil; {
		w := p.Of.(*waiter)
		p = p.NextWord()
		if !w.fired && w.err == nil && w.done() {
			e.fire(w)
		}
	}
}

// lookAt tells whether the rank that w waits for has a processor, as far as the engine knows. The result
// determines how often a burst polls, and how long w polls before it sleeps. If the policy is to spin and no transport
// is slow (transport.Slow), the result is Unknown. Otherwise it is Remote in two cases: the rank is reached through a
// network, or the engine does not know the rank and anyPeer is Remote.
func (e *Engine) lookAt(w *waiter) progress.Peer {
	spins := e.burst.Spins()
	switch {
	case spins && !e.slow:
		return progress.Unknown
	case w.done != nil:
		return progress.Word
	case w.req == nil || w.req.target.source < 0 || e.peers[w.req.target.source] == nil:
		return e.anyPeer
	}
	s, ok := e.peers[w.req.target.source].ep.(transport.Scheduled)
	switch {
	case !ok:
		return progress.Remote
	case spins:
		return progress.Unknown
	case s.Away():
		return progress.Away
	}
	return progress.There
}

// pollBurst polls until w is over or the burst ends. The burst also ends when another goroutine was
// made runnable or waits for the lock. pollBurst returns the sum of the results of the polls.
func (e *Engine) pollBurst(w *waiter) int {
	got := 0
	for empty, polls := e.burst.Next(e.lookAt(w)), 0; empty > 0 && polls < progress.BurstMost; polls++ {
		found := e.poll(pollBudget)
		got += found
		if w.over() || e.token.Stirred() || e.crowd.Load() != 0 {
			break
		}
		if found == 0 {
			empty--
		}
	}
	return got
}

// pulse releases the lock for a moment. If goroutines were made runnable or wait for the lock, it
// lets them run.
func (e *Engine) pulse() {
	crowd := e.token.Woken() || e.crowd.Load() != 0
	defer e.stepIn(e.stepOut())
	if crowd {
		goruntime.Gosched()
	}
}

// yield releases the lock and yields the processor. If wide is true, or if the engine knows of
// goroutines that can run, are parked or wait for the lock, yield first yields to other goroutines. Then it
// yields to other processes. It returns the duration of the yield to other processes, or 0 if Engine.share does
// not need it.
func (e *Engine) yield(wide bool) time.Duration {
	others, watched := e.token.Woken() || wide || e.crowd.Load() != 0 || e.token.Crowded(), e.share.Watches()
	defer e.stepIn(e.stepOut())
	if others {
		goruntime.Gosched()
	}
	if !watched {
		e.sleeper.Yield()
		return 0
	}
	began := time.Now()
	e.sleeper.Yield()
	return time.Since(began)
}

// sleep sleeps until the Sleeper is rung, but no longer than nap if frames or transfers are queued.
// It releases the lock meanwhile.
func (e *Engine) sleep(w *waiter, ticket uint32, nap time.Duration) {
	e.locate(w)
	nanos := int64(-1)
	if len(e.backlog) > 0 {
		nanos = int64(nap)
	}
	defer e.stepIn(e.stepOut())
	e.sleeper.Sleep(ticket, nanos)
}

// park parks the goroutine of w until obey wakes it. It releases the lock meanwhile.
func (e *Engine) park(w *waiter) {
	if w.ch == nil {
		w.ch = make(chan struct{}, 1)
	}
	e.locate(w)
	defer e.stepIn(e.stepOut())
	<-w.ch
}

// arm arms every transport: the transport rings the Sleeper on the next arrival. If a transport
// already has something to poll for, or if the field silent is set, arm returns false, and no transport
// is armed. Unless silent is set, arm first sends the open batches.
func (e *Engine) arm() bool {
	if e.silent {
		return false
	}
	if len(e.mail.batches.open) > 0 {
		e.sendBatches()
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

// disarm disarms all transports if they are armed.
func (e *Engine) disarm() {
	if !e.armed {
		return
	}
	e.armed = false
	for _, t := range e.cfg.Transports {
		t.Disarm()
	}
}

// urge wakes a sleeping poller, because a poll has to send frames or batches, or to find the loss of a peer.
func (e *Engine) urge() { e.obey(e.token.Urge()) }

// nothing counts a nonblocking call without result. It returns the number of such calls since the poll
// of a nonblocking call last found something. The caller passes this number to rest.
func (e *Engine) nothing() (idle uint) {
	e.idle++
	return e.idle
}

// rest yields after some of the nonblocking calls without result, because callers tend to repeat
// such a call at once. idle is the result of the method nothing, or 0 after a call with a result. mu
// is not held.
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

// Await waits until done returns true, or ctx or the engine ends. done reads a word of memory. It
// is called often, with the engine's lock held, and must not call the engine. The code that changes the
// word has to ring the Sleeper. what names the wait in Blocked. After Close, done is not called any
// more, because the memory that it reads may be unmapped.
func (e *Engine) Await(ctx context.Context, done func() bool, what string) error {
	e.lock()
	defer e.unlock()
	if e.silent {
		return e.err
	}
	e.token.Called()
	w := e.newWaiter()
	w.done, w.what = done, what
	err := e.wait(ctx, w)
	e.freeWaiter(w)
	return err
}
