package engine

import goruntime "runtime"

// stackDepth is the largest number of stack frames of a sleeping goroutine that are recorded for
// Blocked.
const stackDepth = 24

// locate records the call stack of the goroutine of w, which is the calling goroutine. It does
// nothing if the stack is recorded already. It is called just before a sleep, a park or a
// wait of Attend, so that it takes no time in a wait that the polls end.
func (e *Engine) locate(w *waiter) {
	if w.depth != 0 {
		return
	}
	if w.stack == nil {
		w.stack = new([stackDepth]uintptr)
	}
	w.depth = goruntime.Callers(3, w.stack[:])
	e.noteSleep(w)
}
