package message

// AllGatherPAT gathers the blocks c.Send of all ranks in c.Recv of every rank, along parallel
// aggregated trees. S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations
// at scale" (2025). c.Send may be the same memory as this rank's block of c.Recv.
//
// Each round has a distance d in ranks. In the first round d is the largest power of two below p; d
// halves from round to round, and is 1 in the last round. In each round rank r sends some of its blocks
// to rank r+d (modulo p). These are the blocks of the ranks r-x (modulo p), for x = 0, 2d, 4d, ..., if
// x+d < p. In contrast to Bruck's algorithm, the longest messages go to the nearest rank, and the
// blocks need no rotation at the end.
//
// Restrictions: none; blocks may differ in length. A message has one block, or several that
// together have at most 64 KiB.
// Cost: ceil(log p) alpha + (p-1) n beta for blocks of n bytes, one alpha more for each message of a
// round beyond the first message of that round, and a copy of all blocks at the sender and at the
// receiver.
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
