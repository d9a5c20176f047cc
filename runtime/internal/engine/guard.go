package engine

import "github.com/gorun-hpc/gorun/transport"

// Every call into the engine takes mu and releases it by a deferred unlock. So no panic leaves
// it taken: neither one of foreign code under the lock (transports, functions of Config, actor
// receivers, functions of Await and Serve), nor one of memory of the program
// (debug.SetPanicOnFault), nor one of the engine itself.
//
// A panic in a transport or in a wait leaves the poll token, and records of that transport, in
// an unknown state. Engine.within counts these calls. unlock finds it above 0 only after a
// panic in one of them. It then ends the engine: every operation ends with ErrPanicked, and no
// transport is called any more. Transfers under way may continue for a while.

// lock takes mu. It asks a poller that holds mu to release it.
func (e *Engine) lock() {
	if !e.mu.TryLock() {
		e.lockTaken()
	}
}

// lockTaken is lock while another goroutine holds mu. It is apart so that lock is inlined.
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

// locked runs a function of a transport under mu, unless no transport may be called any more.
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
	e.endMoves() // their completions will not be polled
}

// stepOut releases mu in the middle of a call. stepIn takes it again with the result of
// stepOut. The two are one line, with a defer for stepIn:
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
