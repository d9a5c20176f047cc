package message

// ExScanChain leaves at rank i, but rank 0, the combination of send of the ranks 0 to i-1:
// each rank passes on what it gets combined with its own. recv may be send; that of rank 0
// stays as it is.
//
// Restrictions: none; the operands are combined from left to right, so that the bits of the
// result are those of a loop over the ranks.
// Cost: (p-1) (alpha + n beta) + (p-2) n gamma for the last rank.
func ExScanChain(p Peer, c *Call) error {
	rank, last := p.Rank(), p.Size()-1
	with := c.Send
	if rank > 0 {
		scratch := p.Scratch(2 * len(c.Send))
		with = scratch[:len(c.Send)]
		before := scratch[len(c.Send):]
		if err := p.Recv(rank-1, before); err != nil {
			return err
		}
		if rank < last {
			c.Reduction.Fn(with, before, c.Send)
		}
		p.Copy(c.Recv, before)
	}
	if rank == last {
		return nil
	}
	return p.Send(rank+1, with)
}
