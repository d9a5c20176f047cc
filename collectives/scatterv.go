package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// ScatterV copies the counts[i] elements at send[displs[i]:] of root to recv of member i. At member i,
// recv must have counts[i] elements. If displs is nil, the blocks follow each other in the order of the
// ranks. The blocks may share elements. send, counts and displs are used at root only. IScatterV and
// ScatterVInit read counts and displs before they return, so that the caller may change both slices
// afterwards.
func ScatterV[T any](c *runtime.Comm, send []T, counts, displs []int, recv []T, root int) error {
	return scatterV(new(call), c, send, counts, displs, recv, root).wait()
}

// IScatterV starts a ScatterV.
func IScatterV[T any](c *runtime.Comm, send []T, counts, displs []int, recv []T, root int) runtime.Request {
	return scatterV(new(call), c, send, counts, displs, recv, root).start()
}

// ScatterVInit sets up a ScatterV.
func ScatterVInit[T any](c *runtime.Comm, send []T, counts, displs []int, recv []T, root int) *runtime.Persistent {
	return scatterV(new(call), c, send, counts, displs, recv, root).persist()
}

func scatterV[T any](k *call, c *runtime.Comm, send []T, counts, displs []int, recv []T, root int) *call {
	if !onFor[T](k, c, message.ScatterV) || !k.from(root) {
		return k
	}
	k.Recv = kernel.Bytes(recv)
	if k.group.rank != root {
		return k
	}
	blocks := raggedOf("send", send, counts, displs)
	if k.sendsBlocks(&blocks) {
		k.failed(blocks.checkOwn(k.SendParts, "recv", k.Recv, len(recv), root))
	}
	return k
}
