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
	group *runtime.Comm // of this rank, for the steps within it
	// across reaches the ranks of the other group. local is for steps of a nonblocking operation
	// within the own group.
	across, local peer
	said          node.Call
	site          callsite.Site // in the program
	first         bool          // of its group
	// started is subjectStarted in a nonblocking operation, whose steps within the group are
	// messages.
	started uint64
}

// do carries out a step within the group.
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
	return x.explain(x.local.comm, k.messages(&x.local))
}

// pass sends to a rank of the other group, take receives from one, swap does both with the
// first one.
func pass[T any](x *crossing, buf []T, to int) error { return x.across.Send(to, kernel.Bytes(buf)) }

func take[T any](x *crossing, buf []T, from int) error {
	return x.explain(x.across.comm, x.across.Recv(from, kernel.Bytes(buf)))
}

func swap[T any](x *crossing, out, in []T) error { return exchange(x, out, 0, in, 0) }

// exchange sends to a rank of the other group and receives from one.
func exchange[T any](x *crossing, out []T, to int, in []T, from int) error {
	return x.explain(x.across.comm, x.across.Exchange(to, kernel.Bytes(out), from, kernel.Bytes(in)))
}

// firstOnly allocates a buffer at the first rank of a group.
func firstOnly[T any](x *crossing, n int) []T {
	if !x.first {
		return nil
	}
	return make([]T, n)
}

// explain replaces the error of a step that ended because of a message of another call by one that
// names both calls; c is the communicator of the step.
func (x *crossing) explain(c *runtime.Comm, err error) error {
	if m, ok := errors.AsType[*MismatchError](err); ok { // of a step within the group
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
