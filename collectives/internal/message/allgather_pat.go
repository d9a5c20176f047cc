package message

// AllGatherPAT collects the blocks send of all ranks in recv of all ranks along parallel
// aggregated trees: a rank gives first its block to the rank half of all away, then both to the
// one a quarter away, and so on. S. Jeaugey, "PAT: a new algorithm for all-gather and
// reduce-scatter operations at scale" (2025). Unlike Bruck's, the longest messages go to the
// nearest rank, and the blocks need no turn at the end. send may be this rank's block of recv.
//
// Restrictions: none; blocks may differ in length. Cost: ceil(log p) alpha + (p-1) n beta for
// blocks of n bytes, and a copy of them at both ends; a message has at most 64 KiB or one block.
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
