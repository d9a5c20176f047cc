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
	a := e.acked[context]
	if a == nil {
		a = new(acked)
		e.acked[context] = a
	}
	if a.ranks == nil {
		a.ranks = make(map[int]bool, len(ranks))
	}
	for _, rank := range ranks {
		a.ranks[rank] = true
	}
}
