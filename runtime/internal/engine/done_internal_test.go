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
