package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// AllToAll copies block j of member i's send to block i of member j's recv, for all i and j. send and
// recv must have the same length, which is a multiple of c.Size(). They may be the same slice.
func AllToAll[T any](c *runtime.Comm, send, recv []T) error {
	return allToAll(new(call), c, send, recv).wait()
}

// IAllToAll starts an AllToAll.
func IAllToAll[T any](c *runtime.Comm, send, recv []T) runtime.Request {
	return allToAll(new(call), c, send, recv).start()
}

// AllToAllInit sets up an AllToAll.
func AllToAllInit[T any](c *runtime.Comm, send, recv []T) *runtime.Persistent {
	return allToAll(new(call), c, send, recv).persist()
}

func allToAll[T any](k *call, c *runtime.Comm, send, recv []T) *call {
	if !onFor[T](k, c, message.AllToAll) {
		return k
	}
	k.Send, k.Recv = kernel.Bytes(send), kernel.Bytes(recv)
	if !k.checkReduce(max(kernel.SizeOf[T](), 1)) {
		return k
	}
	size := k.group.size
	if len(send)%size != 0 {
		k.err = lengthError("send", len(send), (len(send)/size+1)*size)
	}
	k.SendParts = message.Equal(len(k.Send) / size)
	k.RecvParts = k.SendParts
	return k.of(len(k.Send), len(k.Send)/size)
}
