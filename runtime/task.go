package runtime

import "context"

// contextTask is the engine's context of the messages with which goroutines of
// NewRequest tell their end. No communicator has it.
const contextTask = 1<<32 - 1

// task is the goroutine behind a NewRequest.
type task struct {
	cancel context.CancelFunc
	// done is closed at the end of fn; err is valid from then on.
	done chan struct{}
	err  error
}
