package node

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// AllReducePair combines the large contributions of two members. Each member copies its own
// contribution into shared memory, reads the other member's contribution there in place, and combines
// both contributions directly into recv. AllReducePair does more arithmetic and less copying than
// AllReduceSegments. recv may be the same memory as send.
//
// Restrictions: two members; an element is no longer than a segment.
// Cost: n/segment alpha + 2 n beta + n gamma.
func (g *Group) AllReducePair(send, recv []byte, r message.Reduction) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	step := f.unit(r.Elem)
	each, count := f.cut(len(send), step, f.size)
	first, peer := f.claim(count, each), 1-g.rank
	for i := range count {
		s := first + uint64(i)
		in := window(send, i, each)
		if err := f.put(in, s); err != nil {
			return err
		}
		theirs, err := f.written(peer, s)
		if err != nil {
			return err
		}
		if g.rank == 0 {
			r.Fn(window(recv, i, each), in, theirs[:len(in)])
		} else {
			r.Fn(window(recv, i, each), theirs[:len(in)], in)
		}
		f.finish(s)
	}
	return nil
}
