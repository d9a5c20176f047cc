package engine

import goruntime "runtime"

// stackDepth is the number of frames of a sleeping goroutine that are kept for Blocked.
const stackDepth = 24

// locate records the stack of the goroutine of w. It is called before a sleep, so that waits
// that end while polling do not pay for it.
func (e *Engine) locate(w *waiter) {
	if w.depth != 0 || w.pc != 0 || w.req != nil && w.req.pc != 0 {
		return
	}
	if w.stack == nil {
		w.stack = new([stackDepth]uintptr)
	}
	w.depth = goruntime.Callers(3, w.stack[:])
	e.noteSleep(w)
}
