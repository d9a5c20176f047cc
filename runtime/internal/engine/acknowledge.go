package engine

// acked records the ranks whose loss the program has acknowledged in one context. The loss of these
// ranks does not end receives and probes from AnySource in that context.
type acked struct {
	ranks map[int]bool
	// passed is the number of entries at the start of Engine.deaths that need no further check.
	// Each of these ranks is acknowledged or is not a member of the context.
	passed int
}

// Acknowledge records that the program knows of the loss of ranks. From then on, the loss of these
// ranks does not end receives and probes from AnySource in this context. A rank may be
// acknowledged before the engine has detected its loss.
func (e *Engine) Acknowledge(context uint32, ranks []int) {
	e.lock()
	defer e.unlock()
	a := e.ackedIn(context)
	for _, rank := range ranks {
		a.ranks[rank] = true
	}
}

// ackedIn returns the record of a context, and creates it if there is none.
func (e *Engine) ackedIn(context uint32) *acked {
	a := e.acked[context]
	if a == nil {
		a = &acked{ranks: make(map[int]bool)}
		e.acked[context] = a
	}
	return a
}
