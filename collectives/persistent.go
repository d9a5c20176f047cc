package collectives

import "github.com/gorun-hpc/gorun/runtime"

// The persistent operations check their arguments once, and Start starts them as the
// nonblocking ones are started: a start matches those of the other members, of both forms,
// in the order in which they are made. The buffers belong to the operation from Start to
// the end of Wait. The context of the communicator that Init was given ends all of its starts;
// a start after that ends at once. StartAll starts them beside persistent sends and receives. Close ends
// their use; it need not be called.

// persist sets the call up. An error of its arguments is that of Wait.
func (k *call) persist() *runtime.Persistent {
	own := *k
	if own.err != nil {
		return runtime.NewPersistent(own.start)
	}
	p := &peer{rank: own.group.rank, size: own.group.size} // keeps its scratch memory
	return runtime.NewPersistent(func() runtime.Request { return own.launch(p, func() {}) })
}
