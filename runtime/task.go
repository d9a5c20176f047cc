package runtime

import (
	"context"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

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

// NewRequest runs fn on a goroutine of its own with a view of c whose context
// ends when the request is canceled, and returns its request. Wait returns fn's
// error. A panic in fn is one of the rank.
//
// The end of fn is a message of the rank to itself, so that WaitAny and its variants need
// no support for goroutines.
func NewRequest(c *Comm, fn func(c *Comm) error) Request {
	if err := c.Err(); err != nil {
		return failedRequest(callsite.At(err))
	}
	ctx, cancel := context.WithCancel(c.Context())
	t := &task{done: make(chan struct{}), cancel: cancel}
	w := c.core.world
	end := engine.Match{Context: contextTask, Peer: w.Rank(), Tag: int(w.tasks.Add(1) & engine.TagMax)}
	r := Request{comm: c, rest: &rest{task: t}, operation: c.engine.Irecv(end, 0, nil, 0)}
	go func() {
		defer func() {
			cancel()
			close(t.done)
			// It fails only when the engine has ended, and the receive with it.
			_ = c.engine.Send(context.Background(), end, 0, nil, engine.Standard, 0)
		}()
		t.err = w.guard(func() error { return fn(c.WithContext(ctx)) })
	}()
	return r
}
