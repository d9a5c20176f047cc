package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// ReducePipeline combines the large contributions of all members into root's buffer recv, in segments.
// Every other member copies its contribution into its part of the shared memory. Root combines the
// contributions there in place, directly into recv. At root, recv may be the same memory as send.
//
// Restrictions: an element is no longer than a segment. Cost: alpha + p n (beta + gamma) at root.
func (g *Group) ReducePipeline(send, recv []byte, root int, r message.Reduction) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	each, count := f.cut(len(send), f.unit(r.Elem), f.size)
	first := f.claim(count, each)
	same, _ := kernel.Overlap(send, recv)
	for i := range count {
		s, in := first+uint64(i), window(send, i, each)
		if g.rank != root {
			if err := f.put(in, s); err != nil {
				return err
			}
		} else {
			if err := f.writtenByAll(s); err != nil {
				return err
			}
			f.fold(window(recv, i, each), in, same, r, func(q int) []byte { return f.segment(q, s) })
		}
		f.finish(s)
	}
	return nil
}
