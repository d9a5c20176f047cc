package collectives

import (
	"errors"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime"
)

// crossing is one rank's part in an operation on an Intercomm.
type crossing struct {
	*coupling
	group *runtime.Comm // the communicator of this rank's group, for the steps within the group
	// across exchanges messages with the ranks of the other group. local exchanges messages within
	// this rank's group, in the steps of a nonblocking operation.
	across, local peer
	said          node.Call
	site          callsite.Site // where the program called the operation
	first         bool          // this rank is the first one of its group
	// started is subjectStarted in a nonblocking operation, and 0 in a blocking operation. A
	// nonblocking operation executes its steps within the group by messages.
	started uint64
}

// do executes a step within the group.
func (x *crossing) do(k *call) error {
	if x.started == 0 {
		k.within = x
		return x.explain(x.group, k.wait())
	}
	switch {
	case k.err != nil:
		return k.err
	case k.idle:
		return nil
	case k.group.size == 1:
		return k.alone()
	}
	own := *k // on the heap, so that the call of a blocking operation stays on the stack
	return x.explain(x.local.comm, own.messages(&x.local, own.messageRule()))
}

// pass sends a message to a rank of the other group, and take receives a message from a rank of the
// other group. swap does both with the first rank of the other group.
func pass[T any](x *crossing, buf []T, to int) error { return x.across.Send(to, kernel.Bytes(buf)) }

func take[T any](x *crossing, buf []T, from int) error {
	return x.explain(x.across.comm, x.across.Recv(from, kernel.Bytes(buf)))
}

func swap[T any](x *crossing, out, in []T) error { return exchange(x, out, 0, in, 0) }

// exchange sends a message to a rank of the other group and receives a message from a rank of the
// other group. The argument to is the destination, the argument from is the source.
func exchange[T any](x *crossing, out []T, to int, in []T, from int) error {
	return x.explain(x.across.comm, x.across.Exchange(to, kernel.Bytes(out), from, kernel.Bytes(in)))
}

// firstOnly allocates a buffer of n elements at the first rank of the group. It returns nil at the
// other ranks.
func firstOnly[T any](x *crossing, n int) []T {
	if !x.first {
		return nil
	}
	return make([]T, n)
}

// explain returns the error of a step that ended with err. If a message of another call has arrived,
// the result is a MismatchError that names both calls; otherwise the result is err. c is the
// communicator of the step.
func (x *crossing) explain(c *runtime.Comm, err error) error {
	if m, ok := errors.AsType[*MismatchError](err); ok { // returned by a step within the group
		return m
	}
	met, ok := errors.AsType[*runtime.LabelError](err)
	if !ok {
		return err
	}
	mine := &x.blocking
	if x.started != 0 {
		mine = &x.nonblocking
	}
	own, _ := mine.of(uint64(met.Want) % labelNumbers)
	return x.mismatch(c, own, met.Source, uint64(met.Sent)%labelNumbers|x.started)
}
