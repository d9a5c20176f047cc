package collectives

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime"
)

// Root is the root that the root of an operation on an Intercomm gives; the other ranks of its
// group give runtime.ProcNull, those of the other group its rank.
const Root = -3

// The operations on an Intercomm move data from each group to the other one. The first rank of
// a group gathers or combines what its group contributes, with the operations of the group's own
// communicator, exchanges it with the first rank of the other group or with the root, and
// distributes what it got. All ranks of both groups call them in the same order, one at a time,
// beside any number of nonblocking ones. A failure breaks the Intercomm for both groups.

// interCall is one operation on an Intercomm with its arguments, as call is one on a
// communicator: blocking, nonblocking or persistent.
type interCall struct {
	*coupling
	t  *runtime.Intercomm
	op interOperation
	// said is what both groups must agree on, without the call's number.
	said node.Call
	// err is why the call is refused.
	err error
	run func(x *crossing) error
}

// onInter begins a call with elements of type T.
func onInter[T any](t *runtime.Intercomm, op interOperation) *interCall {
	k := &interCall{t: t, op: op}
	if k.err = t.Err(); k.err != nil {
		return k
	}
	if k.coupling, k.err = coupled(t); k.err != nil {
		return k
	}
	kind := kernel.KindOf[T]()
	if kind == kernel.Other {
		k.err = runtime.Element[T]()
	}
	k.said.What = uint64(op)<<callOperation | uint64(kind)<<callKind
	return k
}

// from sets the root. It reports whether this rank takes part.
func (k *interCall) from(root int) bool {
	switch {
	case k.err != nil:
		return false
	case root == runtime.ProcNull:
		k.run = func(*crossing) error { return nil }
		return false
	case root == Root:
		k.said.What |= interRoot(k.side, k.t.Rank())
	case root >= 0 && root < k.size:
		k.said.What |= interRoot(1-k.side, root)
	default:
		k.err = rootError(root, k.size)
	}
	return k.err == nil
}

// of sets the length that both groups agree on, in bytes.
func (k *interCall) of(bytes int) { k.said.Bytes = uint64(bytes) }

// wait executes the call before it returns.
func (k *interCall) wait() error {
	if k.err != nil {
		return k.refuse(k.err)
	}
	x, err := k.begin()
	if err != nil {
		return k.refuse(err)
	}
	return k.end(k.run(x))
}

// start starts the call on a goroutine of its own.
func (k *interCall) start() runtime.Request {
	if k.err != nil {
		err := k.refuse(k.err)
		return runtime.NewRequest(k.t.Local(), func(*runtime.Comm) error { return err })
	}
	x, number := k.launch()
	return runtime.NewRequest(k.t.Private(), func(across *runtime.Comm) error {
		x.across.comm, x.local.comm = across, k.t.Local().Private().WithContext(across.Context())
		err := k.run(x)
		if err == nil {
			return nil
		}
		across.Break(err)
		started, _ := k.nonblocking.of(number % labelNumbers)
		return fmt.Errorf("at %s: %w", started.line, k.refuse(lostWithin(across, err)))
	})
}

// persist sets the call up.
func (k *interCall) persist() *runtime.Persistent { return runtime.NewPersistent(k.start) }

// refuse names the operation, and where it was called, in its error.
func (k *interCall) refuse(err error) error {
	return callsite.At(fmt.Errorf("collectives: %v: %w", k.op, err))
}

// withInter sets the operator.
func withInter[T any](k *interCall, op Op) bool {
	r, err := bind[T](op, kernel.KindOf[T]())
	k.err = err
	k.said.What |= uint64(r.Operator) << callOperator
	return err == nil
}

// interBlock returns the first of the blocks of a buffer, which has one for each rank of the other
// group.
func interBlock[T any](k *interCall, name string, blocks []T) []T {
	n := len(blocks) / k.size
	if k.err == nil && n*k.size != len(blocks) {
		k.err = lengthError(name, len(blocks), n*k.size)
	}
	return blocks[:n]
}
