package collectives

import "github.com/gorun-hpc/gorun/runtime"

// The Init function of a persistent operation checks the arguments once. Each Start then starts a
// nonblocking operation: a start matches the starts of the other members in the order in which they
// are made, whether they are persistent or nonblocking. The operation owns the buffers from Start
// until Wait returns. The context.Context of the communicator that Init was given applies to every
// start: when it ends, an operation in progress ends, and a later start ends at once. StartAll
// starts persistent operations together with persistent sends and receives. Close ends the use of a
// persistent operation; it need not be called.

// persist returns the persistent form of the call. If the arguments were refused, Wait returns the
// error after each Start.
func (k *call) persist() *runtime.Persistent {
	own := *k
	if own.err != nil {
		return runtime.NewPersistent(own.start)
	}
	p := &peer{rank: own.group.rank, size: own.group.size} // all starts use it, so that it keeps its scratch memory
	return runtime.NewPersistent(func() runtime.Request { return own.launch(p, func() {}) })
}
