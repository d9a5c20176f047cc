package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// AllReduce combines send of all members, element by element, in recv of all
// members. recv is as long as send and may be send.
func AllReduce[T any](c *runtime.Comm, send, recv []T, op Op) error {
	g, err := enterFor[T](c)
	var r message.Reduction
	if err == nil {
		r, err = bind[T](op)
	}
	in, out := kernel.Bytes(send), kernel.Bytes(recv)
	if err == nil {
		err = checkReduce(in, out, max(r.Elem, 1))
	}
	if err != nil {
		return refuse(opAllReduce, err)
	}
	if len(in) == 0 {
		return nil
	}
	if g.size == 1 {
		copy(out, in)
		return nil
	}
	return g.end(opAllReduce, g.allReduce(in, out, r))
}

func (g entry) allReduce(send, recv []byte, r message.Reduction) error {
	if err := g.begin(reduction(opAllReduce, anyRoot, r, len(send))); err != nil {
		return err
	}
	alg := g.choose(opAllReduce, len(send), r.Elem, r.Commutative)
	switch alg {
	case recursiveDoubling, rabenseifner, ring:
		return allReduceMessages(&g.peer, alg, send, recv, r)
	default:
	}
	n, err := g.shared()
	if err != nil {
		return err
	}
	switch alg {
	case exchange:
		return n.AllReduceExchange(send, recv, r)
	case counter:
		return n.AllReduceCounter(send, recv, r)
	case pair:
		return n.AllReducePair(send, recv, r)
	default:
		return n.AllReduceSegments(send, recv, r)
	}
}

func allReduceMessages(p *peer, alg algorithm, send, recv []byte, r message.Reduction) error {
	switch alg {
	case rabenseifner:
		return message.AllReduceRabenseifner(p, send, recv, r)
	case ring:
		return message.AllReduceRing(p, send, recv, r)
	default:
		return message.AllReduceRecursiveDoubling(p, send, recv, r)
	}
}
