package engine

import "github.com/gorun-hpc/gorun/transport"

// Every call into the engine that takes mu releases it by a deferred unlock. So mu is released after
// every panic. Foreign code that is called under the lock may panic: transports, functions of
// Config, actor receivers, functions of Await and Serve. Other causes of a panic are a fault in memory
// of the program (debug.SetPanicOnFault) and the engine itself.
//
// A panic in a transport or in a wait may leave the poll token, and the records of a transport, in
// an unknown state. Engine.within counts the waits, the calls of Serve, Poll and Send, and the calls of
// locked that are under way. It does not count calls of other methods of transports. unlock finds it above 0
// only after a panic in one of the counted calls. Then unlock ends the engine: every operation ends with
// ErrPanicked, and no transport is polled or gets frames any more. Gets and Puts under way may continue
// for a while.

// lock takes mu. If a poller holds mu, lock asks the poller by Engine.crowd to release it.
func (e *Engine) lock() {
	if !e.mu.TryLock() {
		e.lockTaken()
	}
}

// lockTaken is the part of lock for the case that another goroutine holds mu. It is a separate
// function, so that the compiler inlines lock.
func (e *Engine) lockTaken() {
	e.crowd.Add(1)
	e.mu.Lock()
	e.crowd.Add(-1)
}

// unlock is the inverse of lock. It is always deferred.
func (e *Engine) unlock() {
	if e.within != 0 {
		e.wreck()
		return
	}
	e.mu.Unlock()
}

// locked runs a function of a transport under mu. It does nothing once silent is set.
func (e *Engine) locked(f func()) {
	e.lock()
	defer e.unlock()
	if !e.silent {
		e.within++
		f()
		e.within--
	}
}

// wreck ends the engine because of a panic, and releases mu.
func (e *Engine) wreck() {
	defer e.mu.Unlock()
	e.within = 0
	e.silent = true
	e.token.Wreck()
	e.fail(ErrPanicked)
	e.endMoves() // the completions of Gets and Puts will not be polled any more
}

// stepOut releases mu in the middle of a call of the engine. stepIn takes mu again, and gets the
// result of stepOut. Callers write both in one line:
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

// transmit calls Endpoint.Send, counted in within.
func (e *Engine) transmit(p *peer, w transport.Header, body []byte) error {
	e.within++
	err := p.ep.Send(w, body)
	e.within--
	return err
}
