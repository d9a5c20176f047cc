package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// Gather concatenates send of all members in recv of root, in the order of the ranks. recv
// is Size times as long as send there; it is not used elsewhere.
func Gather[T any](c *runtime.Comm, send, recv []T, root int) error {
	g, err := enterFor[T](c)
	if err == nil {
		err = g.checkRoot(root)
	}
	in, out := kernel.Bytes(send), kernel.Bytes(recv)
	if err == nil && g.rank == root {
		err = g.checkBlocks("recv", in, out, len(send), len(recv))
	}
	if err != nil {
		return refuse(opGather, err)
	}
	if len(in) == 0 {
		return nil
	}
	if g.size == 1 {
		copy(out, in)
		return nil
	}
	return g.end(opGather, g.gather(in, out, root))
}

// checkBlocks checks one block of n elements against all blocks, total elements:
// block may be this rank's among all, and nothing else of it.
func (g *group) checkBlocks(name string, block, all []byte, n, total int) error {
	if total != n*g.size {
		return lengthError(name, total, n*g.size)
	}
	own := all[g.rank*len(block):][:len(block)]
	if same, _ := kernel.Overlap(block, own); same {
		return nil
	}
	if same, partial := kernel.Overlap(block, all); same || partial {
		return aliasError("send", "recv")
	}
	return nil
}

func (g entry) gather(send, recv []byte, root int) error {
	if err := g.begin(call{op: opGather, root: root, bytes: len(send)}); err != nil {
		return err
	}
	alg := g.choose(opGather, len(send), 0, true)
	if alg == binomial {
		return message.GatherBinomial(&g.peer, send, recv, root)
	}
	n, err := g.shared()
	if err != nil {
		return err
	}
	if alg == small {
		return n.GatherSmall(send, recv, root)
	}
	return n.GatherPipeline(send, recv, root)
}
