package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// AllGatherV copies the slice send of member i, which has counts[i] elements, to recv[displs[i]:] of every
// member. If displs is nil, the blocks follow each other in the order of the ranks. All members must
// pass the same counts, but may pass different displs. IAllGatherV and AllGatherVInit read counts and
// displs before they return, so that the caller may change both slices afterwards.
func AllGatherV[T any](c *runtime.Comm, send, recv []T, counts, displs []int) error {
	return allGatherV(new(call), c, send, recv, counts, displs).wait()
}

// IAllGatherV starts an AllGatherV.
func IAllGatherV[T any](c *runtime.Comm, send, recv []T, counts, displs []int) runtime.Request {
	return allGatherV(new(call), c, send, recv, counts, displs).start()
}

// AllGatherVInit sets up an AllGatherV.
func AllGatherVInit[T any](c *runtime.Comm, send, recv []T, counts, displs []int) *runtime.Persistent {
	return allGatherV(new(call), c, send, recv, counts, displs).persist()
}

func allGatherV[T any](k *call, c *runtime.Comm, send, recv []T, counts, displs []int) *call {
	if !onFor[T](k, c, message.AllGatherV) {
		return k
	}
	blocks := raggedOf("recv", recv, counts, displs)
	k.Send = kernel.Bytes(send)
	if !k.receivesBlocks(&blocks) || k.failed(blocks.checkOwn(k.RecvParts, "send", k.Send, len(send), k.group.rank)) {
		return k
	}
	total := blocks.total() * blocks.elem
	k.counts = blocks.checksum()
	return k.of(total, k.RecvParts.Longest(k.group.size))
}
