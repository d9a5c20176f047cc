package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Reduce combines send of all members, element by element, in recv of root.
// recv is as long as send there, may be send, and is not used elsewhere.
func Reduce[T any](c *runtime.Comm, send, recv []T, op Op, root int) error {
	g, err := enterFor[T](c)
	var r message.Reduction
	if err == nil {
		r, err = bind[T](op)
	}
	if err == nil {
		err = g.checkRoot(root)
	}
	in, out := kernel.Bytes(send), kernel.Bytes(recv)
	if err == nil && g.rank == root {
		err = checkReduce(in, out, max(r.Elem, 1))
	}
	if err != nil {
		return refuse(opReduce, err)
	}
	if len(in) == 0 {
		return nil
	}
	if g.size == 1 {
		copy(out, in)
		return nil
	}
	return g.end(opReduce, g.reduce(in, out, root, r))
}

// checkReduce checks the buffers of a reduction where both are used.
func checkReduce(send, recv []byte, elem int) error {
	if len(send) != len(recv) {
		return lengthError("recv", len(recv)/elem, len(send)/elem)
	}
	if _, partial := kernel.Overlap(send, recv); partial {
		return aliasError("send", "recv")
	}
	return nil
}

func (g entry) reduce(send, recv []byte, root int, r message.Reduction) error {
	if err := g.begin(reduction(opReduce, root, r, len(send))); err != nil {
		return err
	}
	alg := g.choose(opReduce, len(send), r.Elem, r.Commutative)
	switch alg {
	case binomial:
		return message.ReduceBinomial(&g.peer, send, recv, root, r)
	case ordered:
		return message.ReduceOrdered(&g.peer, send, recv, root, r)
	default:
	}
	n, err := g.shared()
	if err != nil {
		return err
	}
	if alg == small {
		return n.ReduceSmall(send, recv, root, r)
	}
	return n.ReduceSegments(send, recv, root, r)
}
