package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Gather concatenates the slices send of all members, in the order of their ranks, in recv of root. At
// root, recv must be c.Size() times as long as send; at the other members recv is not used.
func Gather[T any](c *runtime.Comm, send, recv []T, root int) error {
	return gather(new(call), c, send, recv, root).wait()
}

// IGather starts a Gather.
func IGather[T any](c *runtime.Comm, send, recv []T, root int) runtime.Request {
	return gather(new(call), c, send, recv, root).start()
}

// GatherInit sets up a Gather.
func GatherInit[T any](c *runtime.Comm, send, recv []T, root int) *runtime.Persistent {
	return gather(new(call), c, send, recv, root).persist()
}

func gather[T any](k *call, c *runtime.Comm, send, recv []T, root int) *call {
	if !onFor[T](k, c, message.Gather) || !k.from(root) {
		return k
	}
	k.Send, k.Recv = kernel.Bytes(send), kernel.Bytes(recv)
	k.RecvParts = message.Equal(len(k.Send))
	if k.group.rank == root {
		k.checkBlocks("recv", k.Send, k.Recv, len(send), len(recv))
	}
	return k.of(len(k.Send), len(k.Send))
}
