package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// AllGatherPipeline gathers the large contributions of all members in the parts of every member's
// buffer recv, in segments. A member copies its own contribution, send, into shared memory, and
// copies the contributions of the other members out of shared memory. send may be the same memory as
// this member's part of recv.
//
// Restrictions: none. Cost: n/segment alpha + (p+1) n beta for parts of up to n bytes.
func (g *Group) AllGatherPipeline(send, recv []byte, parts message.Parts) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	each, count := f.cut(parts.Longest(g.size), 1, f.size)
	first := f.claim(count, each)
	own := parts.Of(recv, g.rank)
	for i := range count {
		s := first + uint64(i)
		if err := f.put(window(send, i, each), s); err != nil {
			return err
		}
		kernel.Copy(window(own, i, each), window(send, i, each))
		if err := f.fetchAll(recv, parts, i, each, s); err != nil {
			return err
		}
		f.finish(s)
	}
	return nil
}
