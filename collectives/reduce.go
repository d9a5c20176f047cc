package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Reduce combines the slices send of all members, element by element, and stores the result in recv
// of root. At root, recv must have the length of send, and may be send itself. At the other members
// recv is not used.
func Reduce[T any](c *runtime.Comm, send, recv []T, op Op, root int) error {
	return reduce(new(call), c, send, recv, op, root).wait()
}

// IReduce starts a Reduce.
func IReduce[T any](c *runtime.Comm, send, recv []T, op Op, root int) runtime.Request {
	return reduce(new(call), c, send, recv, op, root).start()
}

// ReduceInit sets up a Reduce.
func ReduceInit[T any](c *runtime.Comm, send, recv []T, op Op, root int) *runtime.Persistent {
	return reduce(new(call), c, send, recv, op, root).persist()
}

func reduce[T any](k *call, c *runtime.Comm, send, recv []T, op Op, root int) *call {
	if !onFor[T](k, c, message.Reduce) || !with[T](k, op) || !k.from(root) {
		return k
	}
	k.Send, k.Recv = kernel.Bytes(send), kernel.Bytes(recv)
	if k.group.rank == root {
		k.checkReduce(max(k.Reduction.Elem, 1))
	}
	return k.of(len(k.Send), len(k.Send))
}
