package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Scatter copies block i of send of root to recv of member i. send is Size times
// as long as recv there; it is not used elsewhere.
func Scatter[T any](c *runtime.Comm, send, recv []T, root int) error {
	g, err := enterFor[T](c)
	if err == nil {
		err = g.checkRoot(root)
	}
	in, out := kernel.Bytes(send), kernel.Bytes(recv)
	if err == nil && g.rank == root {
		err = g.checkBlocks("send", out, in, len(recv), len(send))
	}
	if err != nil {
		return refuse(opScatter, err)
	}
	if len(out) == 0 {
		return nil
	}
	if g.size == 1 {
		copy(out, in)
		return nil
	}
	return g.end(opScatter, g.scatter(in, out, root))
}

func (g entry) scatter(send, recv []byte, root int) error {
	if err := g.begin(call{op: opScatter, root: root, bytes: len(recv)}); err != nil {
		return err
	}
	alg := g.choose(opScatter, len(recv), 0, true)
	if alg == binomial {
		return message.ScatterBinomial(&g.peer, send, recv, root)
	}
	n, err := g.shared()
	if err != nil {
		return err
	}
	if alg == small {
		return n.ScatterSmall(send, recv, root)
	}
	return n.ScatterPipeline(send, recv, root)
}
