package engine

// Done reports whether the operation is finished. It does not take the result and does not poll.
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

// Age sets the record of h to its last generation and returns the handle of this generation. h
// is then like a handle of 2^32 operations ago.
func (h Handle) Age() Handle {
	e := h.request.e
	e.lock()
	defer e.unlock()
	h.request.generation = lastGeneration - 1
	return h.request.handle()
}
