package engine

import (
	"time"

	"github.com/gorun-hpc/gorun/runtime/internal/progress"
)

// tick is the time between two polls of the background goroutine while the rank makes calls. After
// a tick without calls, the background goroutine sleeps until an arrival.
const tick = 10 * time.Millisecond

// background is the state of the goroutine that handles arrivals while no goroutine waits, see
// progress.Token.NextBackground. The goroutine sleeps in Sleeper.Idle, which releases Go's processor
// (P) to computing goroutines at once.
type background struct {
	started bool
	closing bool
	wake    chan struct{} // ends a Pause or a Rest (actions of package progress)
	ended   chan struct{}
	timer   *time.Timer // of Pause
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
	b.timer = time.NewTimer(tick)
	go e.runBackground()
}

// runBackground is the function of the background goroutine.
func (e *Engine) runBackground() {
	defer close(e.background.ended)
	defer e.background.timer.Stop()
	e.lock()
	defer e.unlock()
	var in progress.Input
	var ticket uint32
	for {
		action, ready := e.token.NextBackground(in)
		e.obey(ready)
		switch action {
		case progress.Done:
			return
		case progress.Poll:
			e.drain()
		case progress.Yield:
			e.yield(true)
		case progress.Arm:
			ticket = e.sleeper.Prepare()
			in.Armed = e.arm()
		case progress.Sleep:
			e.sleepIdle(ticket)
		case progress.Pause:
			e.pause()
		case progress.Rest:
			e.await(e.background.wake)
		default: // actions of waiting goroutines
		}
	}
}

// lingerPolls is the number of polls in a row without result after which drain returns even if Gets
// or Puts are under way. These polls take about a millisecond.
const lingerPolls = 1000

// drain polls until two polls in a row find nothing. While Gets or Puts are under way, it polls until
// lingerPolls polls in a row find nothing. If it stopped earlier, a computing goroutine could run,
// and the transfer would stop for a whole time slice. drain releases the lock when other goroutines
// wait for it, and between empty polls while Gets or Puts are under way. It returns early when
// Token.Drains returns false.
func (e *Engine) drain() {
	for empty := 0; empty < 2 || e.moving > 0 && empty < lingerPolls; {
		if e.poll(pollBudget) > 0 {
			empty = 0
		} else {
			empty++
		}
		if !e.token.Drains() {
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

// sleepIdle calls Sleeper.Idle without the lock. If frames or transfers are queued, the sleep takes at
// most NapLast.
func (e *Engine) sleepIdle(ticket uint32) {
	nanos := int64(-1)
	if len(e.backlog) > 0 {
		nanos = int64(progress.NapLast)
	}
	defer e.stepIn(e.stepOut())
	e.sleeper.Idle(ticket, nanos)
}

// nap calls Sleeper.Yield without the lock.
func (e *Engine) nap() {
	defer e.stepIn(e.stepOut())
	e.sleeper.Yield()
}

// pause waits until the next tick or until resumeBackground. If frames or transfers are queued, it
// waits for at most NapLast. It releases the lock meanwhile.
func (e *Engine) pause() {
	b, most := &e.background, tick
	if len(e.backlog) > 0 {
		most = progress.NapLast
	}
	defer e.stepIn(e.stepOut())
	b.timer.Reset(most)
	select {
	case <-b.timer.C:
	case <-b.wake:
	}
}

// await receives from a channel without the lock.
func (e *Engine) await(ch chan struct{}) {
	defer e.stepIn(e.stepOut())
	<-ch
}

// resumeBackground ends a Pause or Rest of the background goroutine.
func (e *Engine) resumeBackground() {
	select {
	case e.background.wake <- struct{}{}:
	default:
	}
}
