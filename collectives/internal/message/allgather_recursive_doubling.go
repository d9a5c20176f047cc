package message

// AllGatherRecursiveDoubling gathers the blocks c.Send of all ranks in c.Recv of every rank. In
// round k, two ranks whose numbers differ only in bit k exchange all blocks that they have.
// Thakur, Rabenseifner and Gropp (2005), section 4.1. c.Send may be the same memory as this rank's
// block of c.Recv.
//
// Restrictions: p is a power of two. Cost: log p alpha + (p-1) n beta for blocks of n bytes.
func AllGatherRecursiveDoubling(p Peer, c *Call) error {
	send, recv := c.Send, c.Recv
	rank, size := p.Rank(), p.Size()
	b := blocks{size, size, len(send)}
	p.Copy(b.of(recv, rank), send)
	for mask := 1; mask < size; mask <<= 1 {
		mine := rank &^ (mask - 1)
		other := mine ^ mask
		peer := rank ^ mask
		if err := p.Exchange(peer, b.span(recv, mine, mine+mask), peer, b.span(recv, other, other+mask)); err != nil {
			return err
		}
	}
	return nil
}
