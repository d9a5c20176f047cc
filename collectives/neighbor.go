package collectives

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// The operations between neighbors move blocks along the edges of a topology (runtime.Cart,
// runtime.Graph). sources and dests are the results of Comm.Neighbors. A member sends block i to the
// i-th rank of dests, and receives block i from the i-th rank of sources. If a rank of dests is
// runtime.ProcNull, its block is not sent. If a rank of sources is runtime.ProcNull, its block of the
// receive buffer stays unchanged. All members must call the operation, including those without
// neighbors. In a Cart, the block that a member sends to the next rank of a dimension arrives there as
// the block from the previous rank. This rule also holds in a dimension of one or two ranks, where the
// next and the previous rank are the same rank.

// NeighborAllGather sends the buffer send to each rank of dests, and receives one block from each rank
// of sources into recv, in the order of sources. Comm.Neighbors returns sources and dests. The length
// of recv is the length of send times the number of sources.
func NeighborAllGather[T any](c *runtime.Comm, send, recv []T) error {
	return neighborAllGather(new(call), c, send, recv).wait()
}

// INeighborAllGather starts a NeighborAllGather.
func INeighborAllGather[T any](c *runtime.Comm, send, recv []T) runtime.Request {
	return neighborAllGather(new(call), c, send, recv).start()
}

// NeighborAllGatherInit sets up a NeighborAllGather.
func NeighborAllGatherInit[T any](c *runtime.Comm, send, recv []T) *runtime.Persistent {
	return neighborAllGather(new(call), c, send, recv).persist()
}

func neighborAllGather[T any](k *call, c *runtime.Comm, send, recv []T) *call {
	if !onNeighbors[T](k, c, message.NeighborAllGather) {
		return k
	}
	if want := len(send) * len(k.Sources); len(recv) != want {
		k.err = lengthError("recv", len(recv), want)
		return k
	}
	k.sendsToAll(kernel.Bytes(send))
	k.Recv, k.RecvParts = kernel.Bytes(recv), message.Equal(len(k.Send))
	return k.apart()
}

// NeighborAllGatherV is NeighborAllGather with blocks of different lengths: the block from the i-th
// source has counts[i] elements and goes to recv[displs[i]:]. If displs is nil, the blocks follow
// each other. The nonblocking and the persistent form read counts and displs before they return, so
// that the caller may change both slices afterwards.
func NeighborAllGatherV[T any](c *runtime.Comm, send, recv []T, counts, displs []int) error {
	return neighborAllGatherV(new(call), c, send, recv, counts, displs).wait()
}

// INeighborAllGatherV starts a NeighborAllGatherV.
func INeighborAllGatherV[T any](c *runtime.Comm, send, recv []T, counts, displs []int) runtime.Request {
	return neighborAllGatherV(new(call), c, send, recv, counts, displs).start()
}

// NeighborAllGatherVInit sets up a NeighborAllGatherV.
func NeighborAllGatherVInit[T any](c *runtime.Comm, send, recv []T, counts, displs []int) *runtime.Persistent {
	return neighborAllGatherV(new(call), c, send, recv, counts, displs).persist()
}

func neighborAllGatherV[T any](k *call, c *runtime.Comm, send, recv []T, counts, displs []int) *call {
	if !onNeighbors[T](k, c, message.NeighborAllGatherV) {
		return k
	}
	in := raggedOf("recv", recv, counts, displs)
	if !k.receivesParts(&in, len(k.Sources)) {
		return k
	}
	k.sendsToAll(kernel.Bytes(send))
	return k.apart()
}

// NeighborAllToAll sends block i of send to the i-th rank of dests, and receives block i of recv from
// the i-th rank of sources. Comm.Neighbors returns sources and dests. All blocks have the same length,
// which is the length of send divided by the number of dests. The length of recv divided by the number
// of sources must be the same.
func NeighborAllToAll[T any](c *runtime.Comm, send, recv []T) error {
	return neighborAllToAll(new(call), c, send, recv).wait()
}

// INeighborAllToAll starts a NeighborAllToAll.
func INeighborAllToAll[T any](c *runtime.Comm, send, recv []T) runtime.Request {
	return neighborAllToAll(new(call), c, send, recv).start()
}

// NeighborAllToAllInit sets up a NeighborAllToAll.
func NeighborAllToAllInit[T any](c *runtime.Comm, send, recv []T) *runtime.Persistent {
	return neighborAllToAll(new(call), c, send, recv).persist()
}

func neighborAllToAll[T any](k *call, c *runtime.Comm, send, recv []T) *call {
	if !onNeighbors[T](k, c, message.NeighborAllToAll) {
		return k
	}
	out, in := max(1, len(k.Dests)), max(1, len(k.Sources))
	n := len(send) / out
	if len(k.Dests) == 0 {
		n = len(recv) / in
	}
	if want := n * len(k.Dests); len(send) != want {
		k.err = lengthError("send", len(send), want)
		return k
	}
	if want := n * len(k.Sources); len(recv) != want {
		k.err = lengthError("recv", len(recv), want)
		return k
	}
	block := message.Equal(n * kernel.SizeOf[T]())
	k.Send, k.Recv, k.RecvParts = kernel.Bytes(send), kernel.Bytes(recv), block
	k.sendsInOrder(block)
	return k.apart()
}

// NeighborAllToAllV is NeighborAllToAll with blocks of different lengths. The sendCounts[i] elements at
// send[sendDispls[i]:] go to the i-th rank of dests. The recvCounts[i] elements from the i-th rank of
// sources go to recv[recvDispls[i]:]. If sendDispls or recvDispls is nil, the blocks of that buffer
// follow each other. Blocks of send may share elements. The nonblocking and the persistent form read
// the counts and displacements before they return, so that the caller may change these slices
// afterwards.
func NeighborAllToAllV[T any](c *runtime.Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts, recvDispls []int) error {
	return neighborAllToAllV(new(call), c, send, sendCounts, sendDispls, recv, recvCounts, recvDispls).wait()
}

// INeighborAllToAllV starts a NeighborAllToAllV.
func INeighborAllToAllV[T any](c *runtime.Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts, recvDispls []int) runtime.Request {
	return neighborAllToAllV(new(call), c, send, sendCounts, sendDispls, recv, recvCounts, recvDispls).start()
}

// NeighborAllToAllVInit sets up a NeighborAllToAllV.
func NeighborAllToAllVInit[T any](c *runtime.Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts, recvDispls []int) *runtime.Persistent {
	return neighborAllToAllV(new(call), c, send, sendCounts, sendDispls, recv, recvCounts, recvDispls).persist()
}

func neighborAllToAllV[T any](k *call, c *runtime.Comm, send []T, sendCounts, sendDispls []int, recv []T, recvCounts, recvDispls []int) *call {
	if !onNeighbors[T](k, c, message.NeighborAllToAllV) {
		return k
	}
	out, in := raggedOf("send", send, sendCounts, sendDispls), raggedOf("recv", recv, recvCounts, recvDispls)
	if k.failed(out.check(len(k.Dests))) || !k.receivesParts(&in, len(k.Sources)) {
		return k
	}
	k.Send = out.bytes
	parts := out.parts()
	k.sendsInOrder(parts)
	parts.Release()
	return k.apart()
}

// onNeighbors calls onFor for an operation between neighbors. It also sets the ranks of the neighbors.
func onNeighbors[T any](k *call, c *runtime.Comm, op message.Operation) bool {
	if !onFor[T](k, c, op) {
		return false
	}
	k.Sources, k.Dests, k.err = c.Neighbors()
	return k.err == nil
}

// receivesParts checks and sets the blocks that this member receives. sources is the number of these blocks.
// receivesParts reports whether the blocks are valid.
func (k *call) receivesParts(b *ragged, sources int) bool {
	if k.failed(b.check(sources)) {
		return false
	}
	k.Recv, k.RecvParts = b.bytes, b.parts()
	return !k.failed(b.checkDisjoint(k.RecvParts))
}

// sendsToAll sets the block that this member sends to each of dests.
func (k *call) sendsToAll(block []byte) {
	counts := make([]int, len(k.Dests))
	for i := range counts {
		counts[i] = len(block)
	}
	k.Send, k.SendParts = block, message.Uneven(counts, make([]int, len(counts)), 1)
}

// sendsInOrder sets the blocks that this member sends, in the order in which their receivers
// expect them.
func (k *call) sendsInOrder(blocks message.Parts) {
	order := k.comm.SendOrder()
	dests, counts, displs := make([]int, len(order)), make([]int, len(order)), make([]int, len(order))
	for i, at := range order {
		dests[i], counts[i], displs[i] = k.Dests[at], blocks.Count(at), blocks.Offset(at)
	}
	k.Dests, k.SendParts = dests, message.Uneven(counts, displs, 1)
}

// apart refuses the call if send and recv share elements. It also refuses the call if this member is its
// own neighbor, and the blocks that it sends to itself differ in number or in length from those that it
// receives from itself.
func (k *call) apart() *call {
	if k.failed(disjoint(k.Send, k.Recv)) {
		return k
	}
	rank := k.group.rank
	for out, in := -1, -1; ; {
		out, in = indexAfter(k.Dests, out, rank), indexAfter(k.Sources, in, rank)
		switch sends, receives := out < len(k.Dests), in < len(k.Sources); {
		case !sends && !receives:
			return k
		case sends != receives:
			k.err = fmt.Errorf("%w: rank %d is not equally often in its own sources and dests", runtime.ErrArgument, rank)
			return k
		case k.SendParts.Count(out) != k.RecvParts.Count(in):
			k.err = fmt.Errorf("%w: rank %d sends itself a block of %d bytes, but receives it as %d bytes", ErrLength,
				rank, k.SendParts.Count(out), k.RecvParts.Count(in))
			return k
		}
	}
}

// indexAfter returns the first index after i at which list has v, or len(list) if there is none.
func indexAfter(list []int, i, v int) int {
	for i++; i < len(list) && list[i] != v; {
		i++
	}
	return i
}
