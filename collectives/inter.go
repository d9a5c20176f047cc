package collectives

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime"
)

// Root is the value that the root of an operation on an Intercomm passes as the argument root. The
// other ranks of its group pass runtime.ProcNull, and the ranks of the other group pass the root's
// rank.
const Root = -3

// InterAllGather and InterAllReduce move data from each group to the other group, in three steps. First, the first
// rank of each group gathers or combines the contributions of its group, with the operations of the group's own
// communicator. Second, the first ranks of the two groups exchange the results. Third, each first rank distributes
// in its group what it has received. InterBarrier has the same steps without data. In InterGather and InterReduce,
// only the group without the root does the first step, and its first rank sends the result to the root. In
// InterBcast and InterScatter, the root sends to the first rank of the other group, which does the third step.
// In InterAllToAll, each rank sends a message to each rank of the other group.
//
// All ranks of both groups must call the operations in the same order. At most one blocking operation
// may be in progress; any number of nonblocking operations may be in progress at the same time. A
// failure breaks the Intercomm for both groups.

// interCall is one operation on an Intercomm with its arguments. (The type call has this role for an
// operation on a communicator.) The blocking, nonblocking or persistent form of the operation
// executes the interCall.
type interCall struct {
	*coupling
	t  *runtime.Intercomm
	op interOperation
	// said has the arguments that both groups must agree on, without the call's number.
	said node.Call
	// err is the error with which the call is refused, or nil.
	err error
	// run executes this rank's part of the operation.
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

// from sets the root. It reports whether this rank takes part in the transfer and the arguments
// are valid.
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

// of sets the length that both groups must agree on, in bytes.
func (k *interCall) of(bytes int) { k.said.Bytes = uint64(bytes) }

// ofBlocks sets the lengths that both groups must agree on, in bytes: out is the length of the block of a
// rank of this group, and in is the length of the block of a rank of the other group.
func (k *interCall) ofBlocks(out, in int) {
	k.of(out + in)
	if k.side == 1 {
		out, in = in, out
	}
	k.said.What |= node.Call{What: uint64(out), Bytes: uint64(in)}.Fingerprint() >> (64 - interNumber)
}

// wait executes the call before it returns.
func (k *interCall) wait() error {
	if k.err != nil {
		return k.refuse(k.err)
	}
	x, err := k.begin()
	if err != nil {
		return k.refuse(err)
	}
	return k.end(guard(func() error { return k.run(x) }, func(why error) { _ = k.end(why) }))
}

// start starts the call.
func (k *interCall) start() runtime.Request {
	if k.err != nil {
		err := k.refuse(k.err)
		return runtime.NewRequest(k.t.Local(), func(*runtime.Comm) error { return err })
	}
	x := k.launch()
	return runtime.NewRequestUsing(k.t.Private(), nil, nil, func(across *runtime.Comm) error { return k.cross(x, across) })
}

// cross executes a nonblocking call. across is the view through which this rank exchanges messages with the other
// group.
func (k *interCall) cross(x *crossing, across *runtime.Comm) error {
	x.across.comm, x.local.comm = across, k.t.Local().Private().WithContext(across.Context())
	err := guard(func() error { return k.run(x) }, across.Break)
	if err == nil {
		return nil
	}
	across.Break(err)
	return fmt.Errorf("at %s: %w", x.site.Line(packagePath, runtimePath), k.refuse(lostWithin(across, err)))
}

// persist returns the persistent operation of the call.
func (k *interCall) persist() *runtime.Persistent { return runtime.NewPersistent(k.start) }

// refuse adds the name of the operation to err. It also adds the source line of the call, except to the error of a
// nonblocking operation that has begun to run (see callsite.At).
func (k *interCall) refuse(err error) error {
	return callsite.At(fmt.Errorf("collectives: %v: %w", k.op, err))
}

// withInter sets the operator. It reports whether op is defined for T.
func withInter[T any](k *interCall, op Op) bool {
	r, err := bind[T](op, kernel.KindOf[T]())
	k.err = err
	k.said.What |= uint64(r.Operator) << callOperator
	return err == nil
}

// interDisjoint refuses the call if send and recv share memory.
func interDisjoint[T any](k *interCall, send, recv []T) {
	if k.err == nil {
		k.err = disjoint(kernel.Bytes(send), kernel.Bytes(recv))
	}
}

// interBlock returns the first block of a buffer that has a block for each rank of the other group.
// It refuses the call if the buffer cannot be divided into blocks of equal length.
func interBlock[T any](k *interCall, name string, blocks []T) []T {
	n := len(blocks) / k.size
	if k.err == nil && n*k.size != len(blocks) {
		k.err = lengthError(name, len(blocks), n*k.size)
	}
	return blocks[:n]
}
