package engine

// acked are the losses that end no receive or probe from AnySource of a context.
type acked struct {
	ranks map[int]bool
	// passed is how many of Engine.deaths, from the first on, are acknowledged or of no member
	// of the context.
	passed int
}

// Acknowledge says that the program knows of the loss of some ranks: receives and probes from
// AnySource of this context do not end because of these any more. A rank may be acknowledged
// before the engine knows of its loss.
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
