package collectives

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// AllToAllV copies sendCounts[j] elements at send[sendDispls[j]:] of member i to recv[recvDispls[i]:]
// of member j, for all i and j. recvCounts[i] of member j must equal sendCounts[j] of member i. If
// sendDispls or recvDispls is nil, the blocks of that buffer follow each other in the order of the
// ranks. Blocks of send may share elements. send and recv may be the same slice. If they are, and the algorithm
// needs two slices, AllToAllV sends from a copy. IAllToAllV and AllToAllVInit read the counts and
// displacements before they return, so that the caller may change these slices afterwards.
func AllToAllV[T any](c *runtime.Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts, recvDispls []int) error {
	return allToAllV(new(call), c, send, sendCounts, sendDispls, recv, recvCounts, recvDispls).wait()
}

// IAllToAllV starts an AllToAllV.
func IAllToAllV[T any](c *runtime.Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts, recvDispls []int) runtime.Request {
	return allToAllV(new(call), c, send, sendCounts, sendDispls, recv, recvCounts, recvDispls).start()
}

// AllToAllVInit sets up an AllToAllV.
func AllToAllVInit[T any](c *runtime.Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts, recvDispls []int) *runtime.Persistent {
	return allToAllV(new(call), c, send, sendCounts, sendDispls, recv, recvCounts, recvDispls).persist()
}

func allToAllV[T any](k *call, c *runtime.Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts, recvDispls []int) *call {
	if !onFor[T](k, c, message.AllToAllV) {
		return k
	}
	out, in := raggedOf("send", send, sendCounts, sendDispls), raggedOf("recv", recv, recvCounts, recvDispls)
	if !k.sendsBlocks(&out) || !k.receivesBlocks(&in) {
		return k
	}
	rank := k.group.rank
	if own := sendCounts[rank]; own != recvCounts[rank] {
		k.err = fmt.Errorf("%w: this rank sends itself %d elements and receives %d", ErrLength, own, recvCounts[rank])
	} else if same, partial := kernel.Overlap(k.Send, k.Recv); partial || same && len(send) != len(recv) {
		k.err = errAlias
	}
	return k
}
