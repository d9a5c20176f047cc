package message

// AllGatherRecursiveDoubling gathers the blocks c.Send of all ranks in c.Recv of every rank. In
// round k, two ranks whose numbers differ only in bit k exchange all blocks that they have.
// Thakur, Rabenseifner and Gropp (2005), section 4.1. c.Send may be the same memory as this rank's
// block of c.Recv.
//
// Restrictions: p is a power of two. Cost: log p alpha + (p-1) n beta for blocks of n bytes.
func AllGatherRecursiveDoubling(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	b := blocks{size, size, len(c.Send)}
	p.Copy(b.of(c.Recv, rank), c.Send)
	return double(p, b, c.Recv, rank, func(i int) int { return i })
}

// double executes the rounds of AllGatherRecursiveDoubling. Its ranks are numbered from 0; their number, b.parts, is a
// power of two. me is the number of this rank, which has block me of buf at first. rank returns the rank that has
// number i.
func double(p Peer, b blocks, buf []byte, me int, rank func(i int) int) error {
	for mask := 1; mask < b.parts; mask <<= 1 {
		mine := me &^ (mask - 1)
		other := mine ^ mask
		peer := rank(me ^ mask)
		if err := p.Exchange(peer, b.span(buf, mine, mine+mask), peer, b.span(buf, other, other+mask)); err != nil {
			return err
		}
	}
	return nil
}
