package message

// ExScanChain combines c.Send of the ranks 0 to i-1 into c.Recv of rank i, for all i > 0. Each
// rank receives its result from the previous rank, combines this result with its own c.Send, and
// sends the combination to the next rank. c.Recv may be the same memory as c.Send; c.Recv of rank 0
// stays unchanged.
//
// Restrictions: none. The operands are combined from left to right, so that the result has the same
// bits as the result of a loop over the ranks.
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
