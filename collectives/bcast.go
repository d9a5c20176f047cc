package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Bcast copies root's buf to the buf of every other member.
func Bcast[T any](c *runtime.Comm, buf []T, root int) error {
	return bcast(new(call), c, buf, root).wait()
}

// IBcast starts a Bcast.
func IBcast[T any](c *runtime.Comm, buf []T, root int) runtime.Request {
	return bcast(new(call), c, buf, root).start()
}

// BcastInit sets up a Bcast.
func BcastInit[T any](c *runtime.Comm, buf []T, root int) *runtime.Persistent {
	return bcast(new(call), c, buf, root).persist()
}

func bcast[T any](k *call, c *runtime.Comm, buf []T, root int) *call {
	if !onFor[T](k, c, message.Bcast) || !k.from(root) {
		return k
	}
	k.Recv = kernel.Bytes(buf)
	return k.of(len(k.Recv), len(k.Recv))
}
