package message

// AllGatherRing gathers c.Send of all ranks in the parts of c.Recv of every rank. In the first step a
// rank sends its own part to the next rank, and receives a part from the previous rank. In each
// further step it sends to the next rank the part that it received in the step before. The length of
// c.Send may differ from rank to rank. c.Send may be the same memory as this rank's part of c.Recv.
//
// Restrictions: none. Cost: (p-1) (alpha + n beta) for parts of up to n bytes; best for large parts,
// for which the p-1 latencies matter little. All messages travel between neighbors in the ring.
func AllGatherRing(p Peer, c *Call) error {
	part := func(i int) []byte { return c.RecvParts.Of(c.Recv, i) }
	p.Copy(part(p.Rank()), c.Send)
	return passOn(p, part, p.Rank())
}

// passOn passes blocks around the ring of the ranks, so that every rank gets all blocks; block(i) is the memory of
// block i. At first each rank has one block: this rank has block own, and the next rank has block own+1.
func passOn(p Peer, block func(i int) []byte, own int) error {
	rank, size := p.Rank(), p.Size()
	next, prev := (rank+1)%size, (rank-1+size)%size
	for step := range size - 1 {
		out, in := (own-step+size)%size, (own-step-1+size)%size
		if err := p.Exchange(next, block(out), prev, block(in)); err != nil {
			return err
		}
	}
	return nil
}
