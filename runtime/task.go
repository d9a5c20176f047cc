package runtime

import "context"

// contextTask is the engine's context of the messages with which goroutines of
// NewRequest tell their end. No communicator has it.
const contextTask = 1<<32 - 2

// taskContext is the context of the function of a NewRequest, which Request.Cancel ends, and outer, that
// of the communicator.
type taskContext struct {
	context.Context
	outer context.Context
}

// Inner implements engine.InnerContext.
func (t taskContext) Inner() bool { return t.outer.Done() == nil }

// task is the goroutine behind a NewRequest.
type task struct {
	cancel context.CancelFunc
	// done is closed at the end of fn; err is valid from then on.
	done chan struct{}
	err  error
}
