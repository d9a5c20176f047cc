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
	if err := descend(p, root, func(from, to int) []byte { return b.span(buf, from, to) }); err != nil {
		return err
	}
	return passOn(p, func(i int) []byte { return b.of(buf, i) }, me)
}
