package engine

// Calls returns the number of communication calls that the rank has made, as counted by
// progress.Token.Called.
func (e *Engine) Calls() uint64 {
	e.lock()
	defer e.unlock()
	return e.token.Calls()
}

// Query calls f with the engine's lock held, for questions about the transports. f must not call the engine.
// After Close, or after a panic has ended the engine, Query does not call f, and returns the error of the engine.
// Query does not count as a call of the program (Calls).
func (e *Engine) Query(f func()) error {
	e.lock()
	defer e.unlock()
	if e.silent {
		return e.err
	}
	f()
	return nil
}

// Handled returns the sum of the results of Transport.Poll since New: the number of events and steps of transfers.
func (e *Engine) Handled() uint64 {
	e.lock()
	defer e.unlock()
	return e.handled
}

// waitPolls bounds how many polls of one OnlyWaits may find something.
const waitPolls = 64

// OnlyWaits polls until a poll finds nothing. Its second result is true if the rank can make
// progress only when a peer acts. It is false if more than waitPolls polls found something, if
// frames or batches are queued, if Gets or Puts are under way, or if the engine has ended. It is also false if
// a goroutine's wait is over, because that goroutine is going to run. If the second result is true,
// the first result is that of Handled.
func (e *Engine) OnlyWaits() (handled uint64, only bool) {
	e.lock()
	defer e.unlock()
	e.obey(e.token.Dislodge())
	for i := 0; e.poll(pollBudget) > 0; i++ {
		if i == waitPolls {
			return 0, false
		}
	}
	for w := e.blocked.head; w != nil; w = w.next {
		if w.over() {
			return 0, false
		}
	}
	return e.handled, e.err == nil && len(e.backlog) == 0 && e.moving == 0 && len(e.mail.batches.open) == 0
}
