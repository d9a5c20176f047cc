package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// Failure is what an actor is told of an operation that failed. It does not
// travel between ranks.
type Failure struct {
	// Result is what the actor would have been told.
	Result any
	// Err is why not.
	Err error
}

// PipeTo tells an actor a result when an operation, such as a nonblocking
// collective, has ended well, else a *Failure. It takes over the request. The
// result is mostly the slice that the operation fills; an actor of another rank
// can only be told what travels, and of a failure it hears nothing but the dead
// letter here.
func (s *System) PipeTo(r runtime.Request, pid *actor.PID, result any) {
	go func() {
		if _, err := r.Wait(); err != nil {
			result = &Failure{Result: result, Err: err}
		}
		s.Root.Send(pid, result)
	}()
}
