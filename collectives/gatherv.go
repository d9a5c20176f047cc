package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// GatherV copies the slice send of member i, which has counts[i] elements, to recv[displs[i]:] of root. If
// displs is nil, the blocks follow each other in the order of the ranks. recv, counts and displs are
// used at root only. IGatherV and GatherVInit read counts and displs before they return, so that the
// caller may change both slices afterwards.
func GatherV[T any](c *runtime.Comm, send, recv []T, counts, displs []int, root int) error {
	return gatherV(new(call), c, send, recv, counts, displs, root).wait()
}

// IGatherV starts a GatherV.
func IGatherV[T any](c *runtime.Comm, send, recv []T, counts, displs []int, root int) runtime.Request {
	return gatherV(new(call), c, send, recv, counts, displs, root).start()
}

// GatherVInit sets up a GatherV.
func GatherVInit[T any](c *runtime.Comm, send, recv []T, counts, displs []int, root int) *runtime.Persistent {
	return gatherV(new(call), c, send, recv, counts, displs, root).persist()
}

func gatherV[T any](k *call, c *runtime.Comm, send, recv []T, counts, displs []int, root int) *call {
	if !onFor[T](k, c, message.GatherV) || !k.from(root) {
		return k
	}
	k.Send = kernel.Bytes(send)
	if k.group.rank != root {
		return k
	}
	blocks := raggedOf("recv", recv, counts, displs)
	if k.receivesBlocks(&blocks) {
		k.failed(blocks.checkOwn(k.RecvParts, "send", k.Send, len(send), root))
	}
	return k
}
