package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime"
)

// Failure is the message by which PipeTo reports a failed operation to an actor. It cannot be sent to
// other ranks.
type Failure struct {
	// Result is the message that PipeTo would have sent if the operation had succeeded.
	Result any
	// Err is the error of the operation.
	Err error
}

// PipeTo sends result to an actor when an operation, such as a nonblocking collective, has succeeded.
// If the operation fails, it sends a *Failure instead. PipeTo returns at once; a goroutine waits for
// the request, so the caller must not use the request any more. result is usually the slice that the
// operation fills. If the actor is at another rank, result must be of a registered type, and a
// *Failure becomes a dead letter at this rank. So does a result whose codec, or whose GetMessages, panics.
func (s *System) PipeTo(r runtime.Request, pid *actor.PID, result any) {
	go s.world.Guard(func() {
		if _, err := r.Wait(); err != nil {
			result = &Failure{Result: result, Err: err}
		}
		s.sendContained(pid, result) // a panic would end the rank
	})
}
