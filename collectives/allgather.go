package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// AllGather concatenates send of all members in recv of all members, in the order of the
// ranks. recv is Size times as long as send.
func AllGather[T any](c *runtime.Comm, send, recv []T) error {
	g, err := enterFor[T](c)
	in, out := kernel.Bytes(send), kernel.Bytes(recv)
	if err == nil {
		err = g.checkBlocks("recv", in, out, len(send), len(recv))
	}
	if err != nil {
		return refuse(opAllGather, err)
	}
	if len(in) == 0 {
		return nil
	}
	if g.size == 1 {
		copy(out, in)
		return nil
	}
	return g.end(opAllGather, g.allGather(in, out))
}

func (g entry) allGather(send, recv []byte) error {
	if err := g.begin(call{op: opAllGather, root: anyRoot, bytes: len(send)}); err != nil {
		return err
	}
	alg := g.choose(opAllGather, len(send), 0, true)
	switch alg {
	case recursiveDoubling:
		return message.AllGatherRecursiveDoubling(&g.peer, send, recv)
	case bruck:
		return message.AllGatherBruck(&g.peer, send, recv)
	case ring:
		return message.AllGatherRing(&g.peer, send, recv)
	default:
	}
	n, err := g.shared()
	if err != nil {
		return err
	}
	if alg == small {
		return n.AllGatherSmall(send, recv)
	}
	return n.AllGatherPipeline(send, recv)
}
