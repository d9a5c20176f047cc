package runtime

import (
	"context"
	"sync"

	"github.com/gorun-hpc/gorun/runtime/internal/engine"
)

// contextTask is the engine's context of the messages by which the functions of
// NewRequest complete their requests. No communicator uses it.
const contextTask = 1<<32 - 2

// taskContext is the context.Context of the function of a NewRequest. Request.Cancel ends it. outer
// is the context.Context of the communicator's view.
type taskContext struct {
	context.Context
	outer context.Context
}

// Inner implements engine.InnerContext.
func (t *taskContext) Inner() bool { return t.outer.Done() == nil }

// task is the function of a NewRequest with the state of the request: the rest, the taskContext and the
// views. One allocation contains all of these.
type task struct {
	fn     func(c *Comm) error
	world  *World
	engine *engine.Engine
	// end matches the message that completes the request. The rank sends it to itself.
	end engine.Match
	// rest is the rest of the Request. comm is the view that fn gets, one of views.
	rest   rest
	ctx    taskContext
	cancel context.CancelFunc
	views  [2]Comm
	comm   *Comm
	// work holds the method run. The goroutine that takes work calls run. lent is true if a Wait may take work.
	work engine.Work
	lent bool

	lock sync.Mutex // guards over and done; no other lock is taken under it
	over bool       // fn has returned; err, the result of fn, may be read from then on
	done chan struct{}
	err  error
}

// newTask returns the task of fn on the communicator c.
func newTask(c *Comm, fn func(c *Comm) error) *task {
	t := &task{fn: fn, world: c.core.world, engine: c.engine}
	t.rest.task, t.work.Run = t, t.run
	t.ctx.outer = c.Context()
	t.ctx.Context, t.cancel = context.WithCancel(t.ctx.outer)
	t.comm = c.core.fill(&t.ctx, &t.views, c.engine, c.rank)
	if c.twin == c {
		t.comm = t.comm.twin
	}
	t.end = engine.Match{Context: contextTask, Peer: t.world.Rank(), Tag: int(t.world.tasks.Add(1) & engine.TagMax)}
	return t
}

// run calls the function and completes the request.
func (t *task) run() {
	defer t.finish()
	t.err = errGoexit // unless guard returns
	t.err = t.world.guard(func() error { return t.fn(t.comm) })
}

// finish completes the request.
func (t *task) finish() {
	t.cancel()
	t.lock.Lock()
	t.over = true
	if t.done != nil {
		close(t.done)
	}
	t.lock.Unlock()
	// Send fails only when the engine has ended, which ends the receive of the request, too.
	_ = t.engine.Send(context.Background(), t.end, 0, nil, engine.Standard)
}

// ended reports whether fn has returned.
func (t *task) ended() bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.over
}

// ending returns a channel that is closed when fn has returned. Most requests need none.
func (t *task) ending() <-chan struct{} {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		if t.over {
			close(t.done)
		}
	}
	return t.done
}

// result waits until fn has returned, and returns its error.
func (t *task) result() error {
	if !t.ended() {
		<-t.ending()
	}
	return t.err
}
