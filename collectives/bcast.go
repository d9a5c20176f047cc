package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/node"
	"github.com/gorun-hpc/gorun/runtime"
)

// Bcast copies buf of root to buf of every member.
func Bcast[T any](c *runtime.Comm, buf []T, root int) error {
	g, err := enterFor[T](c)
	if err == nil {
		err = g.checkRoot(root)
	}
	if err != nil {
		return refuse(opBcast, err)
	}
	if g.size == 1 || len(buf) == 0 {
		return nil
	}
	return g.end(opBcast, g.bcast(kernel.Bytes(buf), root))
}

func (g entry) bcast(buf []byte, root int) error {
	if err := g.begin(call{op: opBcast, root: root, bytes: len(buf)}); err != nil {
		return err
	}
	alg := g.choose(opBcast, len(buf), 0, true)
	if alg == binomial || alg == scatterAllGather {
		return bcastMessages(&g.peer, alg, buf, root)
	}
	n, err := g.shared()
	if err != nil {
		return err
	}
	switch alg {
	case small:
		return n.BcastSmall(buf, root)
	case pair:
		return g.bcastPair(n, buf, root)
	default:
		return n.BcastPipeline(buf, root)
	}
}

// bcastPair is one message, which both ends copy at the same time if possible. Both ranks
// exchange their calls first: only if they are equal will the message be received.
func (g *group) bcastPair(n *node.Group, buf []byte, root int) error {
	if err := n.BarrierFlags(); err != nil {
		return err
	}
	return message.BcastBinomial(&g.peer, buf, root)
}

func bcastMessages(p *peer, alg algorithm, buf []byte, root int) error {
	if alg == binomial {
		return message.BcastBinomial(p, buf, root)
	}
	return message.BcastScatterAllGather(p, buf, root)
}
