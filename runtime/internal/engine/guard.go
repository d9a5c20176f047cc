package engine

import "github.com/gorun-hpc/gorun/transport"

// Every call into the engine takes mu and gives it up by a deferred unlock. So no panic
// leaves it taken: not one of the code of others that runs under it (transports, the
// functions of Config, actor receivers, what Await and Serve ask), not one of memory that the
// program handed in (debug.SetPanicOnFault), not one of a mistake here.
//
// A panic in a transport or in a wait leaves the poller's token, and records of that
// transport, in a state that nobody knows. Engine.within counts these calls; unlock
// finds it above 0 only when it unwinds from a panic in one of them, and ends the
// engine then: every operation ends with ErrPanicked, and no transport is called any
// more. What is moving then may move on for a while.

// lock takes mu, asking a poller that holds it to let go.
func (e *Engine) lock() {
	if !e.mu.TryLock() {
		e.crowd.Add(1)
		e.mu.Lock()
		e.crowd.Add(-1)
	}
}

// unlock is the inverse of lock. It is called by defer and in no other way.
func (e *Engine) unlock() {
	if e.within != 0 {
		e.wreck()
		return
	}
	e.mu.Unlock()
}

// locked runs a function of a transport under mu, unless no transport is to be called
// any more.
func (e *Engine) locked(f func()) {
	e.lock()
	defer e.unlock()
	if !e.silent {
		e.within++
		f()
		e.within--
	}
}

// wreck gives mu up for a panic that the engine does not survive.
func (e *Engine) wreck() {
	defer e.mu.Unlock()
	e.within = 0
	e.silent = true
	e.token.Wreck()
	e.fail(ErrPanicked)
	e.endMoves() // the ends of their bytes will not be polled
}

// stepOut lets others in, in the middle of a call: mu is free until stepIn gets what
// stepOut returned. The two are one line, with a defer for the first:
//
//	defer e.stepIn(e.stepOut())
func (e *Engine) stepOut() (within int32) {
	within, e.within = e.within, 0
	e.mu.Unlock()
	return within
}

// stepIn is the inverse of stepOut.
func (e *Engine) stepIn(within int32) {
	e.lock()
	e.within = within
}

// transmit is Endpoint.Send.
func (e *Engine) transmit(p *peer, w transport.Header, body []byte) error {
	e.within++
	err := p.ep.Send(w, body)
	e.within--
	return err
}
