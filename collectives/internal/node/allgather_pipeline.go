package node

import "github.com/gorun-hpc/gorun/collectives/internal/kernel"

// AllGatherPipeline lays large contributions side by side in everyone's recv, in
// segments: every member copies its own in and the others' out. send may be this
// member's block of recv.
//
// Restrictions: none. Cost: n/segment alpha + (p+1) n beta.
func (g *Group) AllGatherPipeline(send, recv []byte) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	size := len(send)
	each, count := f.cut(size, 1, f.size)
	first := f.claim(count)
	own := recv[g.rank*size:][:size]
	for i := range count {
		s := first + uint64(i)
		if err := f.put(window(send, i, each), s); err != nil {
			return err
		}
		kernel.Copy(window(own, i, each), window(send, i, each))
		if err := f.fetchAll(recv, size, i, each, s); err != nil {
			return err
		}
		f.finish(s)
	}
	return nil
}
