package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/internal/processor"
	"github.com/gorun-hpc/gorun/runtime"
)

// call is one operation with its arguments. Each operation has a function that checks the arguments
// of this member and fills in the call. The blocking, nonblocking or persistent form of the operation
// then executes the call. The call of a blocking operation is allocated on the stack.
type call struct {
	message.Call
	group *group
	// comm is the communicator that the caller passed. view is the view of comm that the operation
	// sends and receives through.
	comm, view *runtime.Comm
	op         message.Operation
	kind       kernel.Kind
	// bytes is the length of the operation's buffer, which must be the same at all members. block is the
	// length of one rank's contribution or block; the choice of the algorithm depends on block. Both are
	// in bytes. Both are 0 for operations such as GatherV, in which not all members know the lengths.
	bytes, block int
	// counts is a checksum of the counts if they must be the same at all members, otherwise 0.
	counts uint64
	// idle is true if the operation's buffer has length 0 at all members, so that no member has anything to send.
	// It is false for a barrier, and if not all members know the lengths.
	idle bool
	// free is the value of the group's field busy before and after a blocking call: 0 or, in a step of an operation
	// with values, busyValues.
	free uint32
	// within is the blocking operation on an Intercomm of which this call is a step. It is nil in all other calls.
	within *crossing
	// err is the error with which the call is refused, or nil.
	err error
}

// on sets the communicator and the operation. It reports whether k.err is nil; if not, the caller
// must not continue.
func (k *call) on(c *runtime.Comm, op message.Operation) bool {
	k.comm, k.op = c, op
	k.group, k.view, k.err = find(c)
	return k.err == nil
}

// onFor calls the method on, and checks the element type T.
func onFor[T any](k *call, c *runtime.Comm, op message.Operation) bool {
	if !k.on(c, op) {
		return false
	}
	if k.kind = kernel.KindOf[T](); k.kind == kernel.Other {
		k.err = runtime.Element[T]()
	}
	return k.err == nil
}

// from sets the root.
func (k *call) from(root int) bool {
	k.Root = root
	if root < 0 || root >= k.group.size {
		k.err = rootError(root, k.group.size)
	}
	return k.err == nil
}

// with sets the operator.
func with[T any](k *call, op Op) bool {
	k.Reduction, k.err = bind[T](op, k.kind)
	return k.err == nil
}

// of sets the lengths, in bytes, and the field idle.
func (k *call) of(bytes, block int) *call {
	k.bytes, k.block, k.idle = bytes, block, bytes == 0
	return k
}

// wait executes the call as a blocking operation, and returns its error.
func (k *call) wait() error {
	err := k.complete()
	k.SendParts.Release()
	k.RecvParts.Release()
	return err
}

func (k *call) complete() error {
	if k.err != nil {
		return refuse(k.op, k.err)
	}
	if k.group.size == 1 {
		return k.alone()
	}
	err := k.group.claim(k)
	if err != nil {
		return refuse(k.op, err)
	}
	if k.idle {
		k.group.announce(k)
		processor.Store32(&k.group.busy, k.free)
		return nil
	}
	if err = k.group.begin(k); err == nil {
		if k.Reduction.Operator >= orderedOperator {
			err = k.group.runUser(k)
		} else {
			err = k.group.run(k)
		}
	}
	return k.group.end(k, err)
}

// alone executes the call in a communicator with one member.
func (k *call) alone() error {
	in, out := k.Send, k.Recv
	switch k.op {
	case message.Barrier, message.Bcast, message.ExScan:
		return nil
	case message.NeighborAllGather, message.NeighborAllGatherV, message.NeighborAllToAll, message.NeighborAllToAllV:
		if err := message.NeighborDistance(&k.group.peer, &k.Call); err != nil {
			return refuse(k.op, err)
		}
		return nil
	case message.GatherV, message.AllGatherV:
		out = k.RecvParts.Of(out, 0)
	case message.ScatterV:
		in = k.SendParts.Of(in, 0)
	case message.AllToAllV:
		in, out = k.SendParts.Of(in, 0), k.RecvParts.Of(out, 0)
	default:
	}
	copy(out, in)
	return nil
}

// failed sets the error of the call to err and reports whether err is not nil.
func (k *call) failed(err error) bool {
	k.err = err
	return err != nil
}

// sendsBlocks checks and sets the blocks that this member sends.
func (k *call) sendsBlocks(b *ragged) bool {
	if k.failed(b.check(k.group.size)) {
		return false
	}
	k.Send, k.SendParts = b.bytes, b.parts()
	return true
}

// receivesBlocks checks and sets the blocks that this member receives.
func (k *call) receivesBlocks(b *ragged) bool {
	return k.receivesParts(b, k.group.size)
}

// checkReduce checks that Send and Recv have the same length, and are the same memory or do not overlap. elem is the
// size of an element in bytes.
func (k *call) checkReduce(elem int) bool {
	if len(k.Send) != len(k.Recv) {
		k.err = lengthError("recv", len(k.Recv)/elem, len(k.Send)/elem)
	} else if _, partial := kernel.Overlap(k.Send, k.Recv); partial {
		k.err = errAlias
	}
	return k.err == nil
}

// checkBlocks checks two buffers: block, which has n elements, and all, which has total elements. The buffer all must
// consist of one block of n elements for each rank. The buffer block may be the memory of this rank's block of the
// buffer all. It must not overlap that buffer in any other way.
func (k *call) checkBlocks(name string, block, all []byte, n, total int) {
	if total != n*k.group.size {
		k.err = lengthError(name, total, n*k.group.size)
		return
	}
	own := all[k.group.rank*len(block):][:len(block)]
	if same, _ := kernel.Overlap(block, own); same {
		return
	}
	k.err = disjoint(block, all)
}

// site returns the call site of the blocking operation on an Intercomm of which this call is a step. In all other
// calls it returns nil, and errors name the source line of the call itself.
func (k *call) site() *callsite.Site {
	if k.within == nil {
		return nil
	}
	return &k.within.site
}
