package engine

// Calls returns how many calls the rank has made.
func (e *Engine) Calls() uint64 {
	e.lock()
	defer e.unlock()
	return e.token.Calls()
}

// Handled returns how much the rank has ever handled of what has arrived.
func (e *Engine) Handled() uint64 {
	e.lock()
	defer e.unlock()
	return e.handled
}

// waitPolls bounds the polls of OnlyWaits.
const waitPolls = 64

// OnlyWaits handles what has arrived and returns how much the rank has ever handled, and whether
// it can only wait: there are no frames to send, no Gets or Puts under way, and no wait of a
// goroutine is over. A goroutine whose wait is over, or for which a message is there, may not
// have run since.
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
