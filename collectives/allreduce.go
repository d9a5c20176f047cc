package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// AllReduce combines the slices send of all members, element by element, and stores the result in recv of
// every member. recv must be as long as send, and may be the same slice.
func AllReduce[T any](c *runtime.Comm, send, recv []T, op Op) error {
	return allReduce(new(call), c, send, recv, op).wait()
}

// IAllReduce starts an AllReduce.
func IAllReduce[T any](c *runtime.Comm, send, recv []T, op Op) runtime.Request {
	return allReduce(new(call), c, send, recv, op).start()
}

// AllReduceInit sets up an AllReduce.
func AllReduceInit[T any](c *runtime.Comm, send, recv []T, op Op) *runtime.Persistent {
	return allReduce(new(call), c, send, recv, op).persist()
}

func allReduce[T any](k *call, c *runtime.Comm, send, recv []T, op Op) *call {
	if !onFor[T](k, c, message.AllReduce) || !with[T](k, op) {
		return k
	}
	k.Send, k.Recv = kernel.Bytes(send), kernel.Bytes(recv)
	k.checkReduce(max(k.Reduction.Elem, 1))
	return k.of(len(k.Send), len(k.Send))
}
