package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// ReduceScatterBlock combines the slices send of all members, element by element, and stores block i
// of the result in recv of member i. send must be c.Size() times as long as recv.
func ReduceScatterBlock[T any](c *runtime.Comm, send, recv []T, op Op) error {
	return reduceScatterBlock(new(call), c, send, recv, op).wait()
}

// IReduceScatterBlock starts a ReduceScatterBlock.
func IReduceScatterBlock[T any](c *runtime.Comm, send, recv []T, op Op) runtime.Request {
	return reduceScatterBlock(new(call), c, send, recv, op).start()
}

// ReduceScatterBlockInit sets up a ReduceScatterBlock.
func ReduceScatterBlockInit[T any](c *runtime.Comm, send, recv []T, op Op) *runtime.Persistent {
	return reduceScatterBlock(new(call), c, send, recv, op).persist()
}

func reduceScatterBlock[T any](k *call, c *runtime.Comm, send, recv []T, op Op) *call {
	if !onFor[T](k, c, message.ReduceScatterBlock) || !with[T](k, op) {
		return k
	}
	k.Send, k.Recv = kernel.Bytes(send), kernel.Bytes(recv)
	k.SendParts = message.Equal(len(k.Recv))
	k.checkBlocks("send", k.Recv, k.Send, len(recv), len(send))
	return k.of(len(k.Recv), len(k.Recv))
}
