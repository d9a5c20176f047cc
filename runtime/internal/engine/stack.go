package engine

import goruntime "runtime"

// stackDepth is how many frames of a goroutine that sleeps are kept for Blocked.
const stackDepth = 24

// locate notes where the goroutine of w is. It is called when the goroutine is
// about to sleep, so that a wait that polls with success does not pay for it.
func (w *waiter) locate() {
	if w.depth != 0 || w.pc != 0 || w.req != nil && w.req.pc != 0 {
		return
	}
	if w.stack == nil {
		w.stack = new([stackDepth]uintptr)
	}
	w.depth = goruntime.Callers(3, w.stack[:])
}
