package node

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// AllToAllPipeline sends block q of this member's buffer send to member q, for all q. In member q's
// buffer recv, the number of the block is this member's rank. AllToAllPipeline is for large blocks. The
// blocks are copied through segments, and each segment has a piece of every block. recv must not be the
// same memory as send.
//
// Restrictions: no more members than bytes in a segment. Cost: n p/segment alpha + 2 p n beta for
// blocks of n bytes.
func (g *Group) AllToAllPipeline(send, recv []byte) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	size := len(send) / g.size
	each, count := f.cut(size, 1, f.lane())
	first := f.claim(count, each*f.lanes())
	for i := range count {
		s := first + uint64(i)
		if err := f.putAll(send, message.Equal(size), i, each, s); err != nil {
			return err
		}
		copy(window(recv[g.rank*size:][:size], i, each), window(send[g.rank*size:][:size], i, each))
		for k := 1; k < g.size; k++ {
			q := (g.rank + k) % g.size
			theirs, err := f.written(q, s)
			if err != nil {
				return err
			}
			copy(window(recv[q*size:][:size], i, each), theirs[f.laneIn(q, g.rank)*each:])
		}
		f.finish(s)
	}
	return nil
}
