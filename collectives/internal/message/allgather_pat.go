package message

// AllGatherPAT collects the blocks send of all ranks in recv of all ranks along parallel
// aggregated trees. The distance d in ranks halves from round to round: it is first the largest
// power of two below p, and at last 1. In each round a rank sends the blocks that it has to the rank
// d after it. S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at
// scale" (2025). Unlike in Bruck's algorithm, the longest messages go to the nearest rank, and the
// blocks need no rotation at the end. send may be this rank's block of recv.
//
// Restrictions: none; blocks may differ in length. Cost: ceil(log p) alpha + (p-1) n beta for
// blocks of n bytes, and a copy of all blocks at both ends. A message has one block, or several that
// together have at most 64 KiB.
func AllGatherPAT(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	p.Copy(c.RecvParts.Of(c.Recv, rank), c.Send)
	t, _ := newPAT(p, c.RecvParts, c.Recv, 0)
	top := 1
	for 2*top < size {
		top *= 2
	}
	for d := top; d > 0; d /= 2 {
		to, from := (rank+d)%size, (rank-d+size)%size
		if err := t.round(d, to, rank, from, from, func(own, got []byte) { p.Copy(own, got) }); err != nil {
			return err
		}
	}
	return nil
}
