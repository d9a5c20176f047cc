package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/runtime"
)

// AllToAll copies block j of send of member i to block i of recv of member j, for
// all i and j. send and recv have the same length, a multiple of Size, and may be
// the same slice.
func AllToAll[T any](c *runtime.Comm, send, recv []T) error {
	g, err := enterFor[T](c)
	in, out := kernel.Bytes(send), kernel.Bytes(recv)
	if err == nil {
		err = checkReduce(in, out, max(kernel.SizeOf[T](), 1))
	}
	if err == nil && len(send)%g.size != 0 {
		err = lengthError("send", len(send), (len(send)/g.size+1)*g.size)
	}
	if err != nil {
		return refuse(opAllToAll, err)
	}
	if len(in) == 0 {
		return nil
	}
	if g.size == 1 {
		copy(out, in)
		return nil
	}
	return g.end(opAllToAll, g.allToAll(in, out))
}

func (g entry) allToAll(send, recv []byte) error {
	if err := g.begin(call{op: opAllToAll, root: anyRoot, bytes: len(send)}); err != nil {
		return err
	}
	return g.allToAllAnyhow(send, recv)
}

// allToAllAnyhow is allToAll after the call was announced.
func (g *group) allToAllAnyhow(send, recv []byte) error {
	alg := g.choose(opAllToAll, len(send)/g.size, 0, true)
	if same, _ := kernel.Overlap(send, recv); same && alg != bruck && alg != small {
		send = append([]byte(nil), send...)
	}
	switch alg {
	case bruck:
		return message.AllToAllBruck(&g.peer, send, recv)
	case pairwise:
		return message.AllToAllPairwise(&g.peer, send, recv)
	default:
	}
	n, err := g.shared()
	if err != nil {
		return err
	}
	switch alg {
	case small:
		return n.AllToAllSmall(send, recv)
	case pull:
		return g.pullOr(n, send, recv)
	default:
		return n.AllToAllPipeline(send, recv)
	}
}

// pullOr reads the members' blocks in place. The first call finds out whether that is
// possible; if not, it and later calls choose another algorithm.
func (g *group) pullOr(n *node.Group, send, recv []byte) error {
	ok, err := n.CanPull()
	if err != nil {
		return err
	}
	if ok {
		return n.AllToAllPull(send, recv)
	}
	g.readable = false
	return g.allToAllAnyhow(send, recv)
}
