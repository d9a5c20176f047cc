package message

// BcastScatterAllGather broadcasts c.Recv of root to all ranks. It divides c.Recv into p blocks.
// Root scatters the blocks along a binomial tree; then an allgather passes the blocks around the
// ring of the ranks. The algorithm is the long-message broadcast of R. van de Geijn, "On global combine
// operations", Journal of Parallel and Distributed Computing 22 (1994).
//
// Restrictions: none; blocks may be empty.
// Cost: (ceil(log p) + p - 1) alpha + 2 n (p-1)/p beta; best for large n.
func BcastScatterAllGather(p Peer, c *Call) error {
	buf, root := c.Recv, c.Root
	size := p.Size()
	me := (p.Rank() - root + size) % size
	b := cut(len(buf), 1, size)
	if err := scatterBlocks(p, b, buf, root, me); err != nil {
		return err
	}
	return passOn(p, b, buf, me)
}

// scatterBlocks scatters the blocks of root's buf: for all v, rank root+v (modulo p) receives block v.
// A rank also receives the blocks of the other ranks in its subtree, and forwards them. me is this
// rank's number, counted from root.
func scatterBlocks(p Peer, b blocks, buf []byte, root, me int) error {
	size := p.Size()
	mask := 1
	for ; mask < size; mask <<= 1 {
		if me&mask != 0 {
			mine := b.span(buf, me, min(me+mask, size))
			if err := p.Recv((me-mask+root)%size, mine); err != nil {
				return err
			}
			break
		}
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		if far := me + mask; far < size {
			if err := p.Send((far+root)%size, b.span(buf, far, min(far+mask, size))); err != nil {
				return err
			}
		}
	}
	return nil
}
