package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// Failure is the message to an actor about an operation that failed. It cannot be sent to
// other ranks.
type Failure struct {
	// Result is the message of a successful operation.
	Result any
	// Err is the error of the operation.
	Err error
}

// PipeTo sends an actor the result when an operation, such as a nonblocking collective, has
// succeeded, else a *Failure. It waits for the request, which the caller must not use any
// more. The result is mostly the slice that the operation fills; for an actor of another
// rank it must be of a registered type, and a failure becomes a dead letter at this rank.
func (s *System) PipeTo(r runtime.Request, pid *actor.PID, result any) {
	go func() {
		if _, err := r.Wait(); err != nil {
			result = &Failure{Result: result, Err: err}
		}
		s.Root.Send(pid, result)
	}()
}
