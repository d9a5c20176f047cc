package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// AllGather concatenates the slices send of all members, in the order of their ranks, in recv of every
// member. recv must be c.Size() times as long as send.
func AllGather[T any](c *runtime.Comm, send, recv []T) error {
	return allGather(new(call), c, send, recv).wait()
}

// IAllGather starts an AllGather.
func IAllGather[T any](c *runtime.Comm, send, recv []T) runtime.Request {
	return allGather(new(call), c, send, recv).start()
}

// AllGatherInit sets up an AllGather.
func AllGatherInit[T any](c *runtime.Comm, send, recv []T) *runtime.Persistent {
	return allGather(new(call), c, send, recv).persist()
}

func allGather[T any](k *call, c *runtime.Comm, send, recv []T) *call {
	if !onFor[T](k, c, message.AllGather) {
		return k
	}
	k.Send, k.Recv = kernel.Bytes(send), kernel.Bytes(recv)
	k.RecvParts = message.Equal(len(k.Send))
	k.checkBlocks("recv", k.Send, k.Recv, len(send), len(recv))
	return k.of(len(k.Send), len(k.Send))
}
