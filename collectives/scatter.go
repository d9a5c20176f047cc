package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Scatter copies block i of root's send to recv of member i. At root, send must be c.Size() times as long
// as recv. At the other members send is not used.
func Scatter[T any](c *runtime.Comm, send, recv []T, root int) error {
	return scatter(new(call), c, send, recv, root).wait()
}

// IScatter starts a Scatter.
func IScatter[T any](c *runtime.Comm, send, recv []T, root int) runtime.Request {
	return scatter(new(call), c, send, recv, root).start()
}

// ScatterInit sets up a Scatter.
func ScatterInit[T any](c *runtime.Comm, send, recv []T, root int) *runtime.Persistent {
	return scatter(new(call), c, send, recv, root).persist()
}

func scatter[T any](k *call, c *runtime.Comm, send, recv []T, root int) *call {
	if !onFor[T](k, c, message.Scatter) || !k.from(root) {
		return k
	}
	k.Send, k.Recv = kernel.Bytes(send), kernel.Bytes(recv)
	k.SendParts = message.Equal(len(k.Recv))
	if k.group.rank == root {
		k.checkBlocks("send", k.Recv, k.Send, len(recv), len(send))
	}
	return k.of(len(k.Recv), len(k.Recv))
}
