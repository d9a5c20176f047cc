package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// ReduceScatter combines the slices send of all members, element by element, and stores block i of the
// result in recv of member i. Block i has counts[i] elements. The blocks follow each other; send must
// be as long as all blocks together. All members must pass the same counts. IReduceScatter and
// ReduceScatterInit read counts before they return, so that the caller may change the slice afterwards.
func ReduceScatter[T any](c *runtime.Comm, send, recv []T, counts []int, op Op) error {
	return reduceScatter(new(call), c, send, recv, counts, op).wait()
}

// IReduceScatter starts a ReduceScatter.
func IReduceScatter[T any](c *runtime.Comm, send, recv []T, counts []int, op Op) runtime.Request {
	return reduceScatter(new(call), c, send, recv, counts, op).start()
}

// ReduceScatterInit sets up a ReduceScatter.
func ReduceScatterInit[T any](c *runtime.Comm, send, recv []T, counts []int, op Op) *runtime.Persistent {
	return reduceScatter(new(call), c, send, recv, counts, op).persist()
}

func reduceScatter[T any](k *call, c *runtime.Comm, send, recv []T, counts []int, op Op) *call {
	if !onFor[T](k, c, message.ReduceScatter) || !with[T](k, op) {
		return k
	}
	blocks := raggedOf("send", send, counts, nil)
	k.Recv = kernel.Bytes(recv)
	if !k.sendsBlocks(&blocks) {
		return k
	}
	if total := blocks.total(); total != len(send) {
		k.err = lengthError("send", len(send), total)
		return k
	}
	if k.failed(blocks.checkOwn(k.SendParts, "recv", k.Recv, len(recv), k.group.rank)) {
		return k
	}
	k.counts = blocks.checksum()
	return k.of(len(k.Send), (len(k.Send)+k.group.size-1)/k.group.size)
}
