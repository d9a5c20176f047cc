package runtime

import "context"

// contextTask is the engine's context of the messages by which the goroutines of
// NewRequest complete their requests. No communicator uses it.
const contextTask = 1<<32 - 2

// taskContext is the context.Context of the function of a NewRequest. Request.Cancel ends it. outer
// is the context.Context of the communicator's view.
type taskContext struct {
	context.Context
	outer context.Context
}

// Inner implements engine.InnerContext.
func (t taskContext) Inner() bool { return t.outer.Done() == nil }

// task is the goroutine of a NewRequest.
type task struct {
	cancel context.CancelFunc
	// done is closed when fn has returned; err, the result of fn, may be read from then on.
	done chan struct{}
	err  error
}

// ended reports whether fn has returned.
func (t *task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}
