package message

// BcastScatterDoubling is BcastScatterAllGather with recursive doubling in place of the ring. Ranks
// are counted from root. In round k, two ranks whose numbers differ only in bit k exchange all
// blocks that they have. Thakur, Rabenseifner and Gropp (2005), on broadcast, use this algorithm for
// messages of medium length.
//
// Restrictions: p is a power of two. Blocks may be empty.
// Cost: 2 log p alpha + 2 n (p-1)/p beta.
func BcastScatterDoubling(p Peer, c *Call) error {
	buf, root := c.Recv, c.Root
	size := p.Size()
	me := (p.Rank() - root + size) % size
	b := cut(len(buf), 1, size)
	if err := descend(p, root, func(from, to int) []byte { return b.span(buf, from, to) }); err != nil {
		return err
	}
	return double(p, b, buf, me, func(i int) int { return (i + root) % size })
}
