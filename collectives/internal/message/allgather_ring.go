package message

// AllGatherRing gathers the blocks c.Send of all ranks in c.Recv of every rank. In the first step a
// rank sends its own block to the next rank, and receives a block from the previous rank. In each
// further step it sends to the next rank the block that it received in the last step. c.Send may be
// the same memory as this rank's block of c.Recv.
//
// Restrictions: none. Cost: (p-1) (alpha + n beta) for blocks of n bytes; best for large blocks,
// for which the p-1 latencies matter little. All messages travel between neighbours in the ring.
func AllGatherRing(p Peer, c *Call) error {
	send, recv := c.Send, c.Recv
	b := blocks{p.Size(), p.Size(), len(send)}
	p.Copy(b.of(recv, p.Rank()), send)
	return passOn(p, b, recv, p.Rank())
}

// passOn passes the blocks of buf around the ring of the ranks, so that every rank gets all blocks.
// At first each rank has one block: this rank has block own, and the next rank has block own+1.
func passOn(p Peer, b blocks, buf []byte, own int) error {
	rank, size := p.Rank(), p.Size()
	next, prev := (rank+1)%size, (rank-1+size)%size
	for step := range size - 1 {
		out, in := (own-step+size)%size, (own-step-1+size)%size
		if err := p.Exchange(next, b.of(buf, out), prev, b.of(buf, in)); err != nil {
			return err
		}
	}
	return nil
}
