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
	if err := scatterBlocks(p, b, buf, root, me); err != nil {
		return err
	}
	for mask := 1; mask < size; mask <<= 1 {
		mine := me &^ (mask - 1)
		other := mine ^ mask
		peer := (me ^ mask + root) % size
		if err := p.Exchange(peer, b.span(buf, mine, mine+mask), peer, b.span(buf, other, other+mask)); err != nil {
			return err
		}
	}
	return nil
}
