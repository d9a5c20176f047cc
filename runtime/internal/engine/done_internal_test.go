package engine

// Done reports whether the operation is finished, without taking the result. It does
// not poll.
func (h Handle) Done() bool {
	if h.request == nil {
		return true
	}
	e := h.request.e
	e.lock()
	defer e.unlock()
	r := h.pending()
	return r == nil || r.phase == phaseDone
}

// Age has the record of h be in its last generation, and returns the handle of it. h is as one of 2^32
// operations ago.
func (h Handle) Age() Handle {
	e := h.request.e
	e.lock()
	defer e.unlock()
	h.request.generation = lastGeneration - 1
	return h.request.handle()
}
