package collectives

import "github.com/gorun-hpc/gorun/runtime"

// The Init function of a persistent operation checks the arguments once. Each Start then starts a
// nonblocking operation. The n-th start of one member matches the n-th start of each other member. Starts
// of persistent and of other nonblocking operations are counted in one sequence. The operation owns the buffers
// from Start until Wait returns. The context.Context of the communicator that was passed to Init applies to
// every start. When this context ends, an operation in progress ends with an error, and so does an operation
// that is started later. StartAll starts persistent operations together with persistent sends and receives.
// Close ends the use of a persistent operation. The program need not call it.

// persist returns the persistent form of the call. If the arguments were refused, Wait returns the
// error after each Start.
func (k *call) persist() *runtime.Persistent {
	if k.err != nil {
		own := *k
		return runtime.NewPersistent(own.start)
	}
	s := newStarted(k.group.rank, k.group.size) // the memory of all starts
	s.call = *k
	return runtime.NewPersistent(s.launch)
}
