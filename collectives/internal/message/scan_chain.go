package message

// ScanChain combines c.Send of the ranks 0 to i into c.Recv of rank i, for all i. Each rank
// receives the result of the previous rank, combines it with its own c.Send, and sends its own
// result to the next rank. c.Recv may be the same memory as c.Send.
//
// Restrictions: none. The operands are combined from left to right, so that the result has the same
// bits as the result of a loop over the ranks.
// Cost: (p-1) (alpha + n beta + n gamma) for the last rank.
func ScanChain(p Peer, c *Call) error {
	rank := p.Rank()
	if rank == 0 {
		p.Copy(c.Recv, c.Send)
	} else {
		before := p.Scratch(len(c.Send))
		if err := p.Recv(rank-1, before); err != nil {
			return err
		}
		c.Reduction.Fn(c.Recv, before, c.Send)
	}
	if rank+1 == p.Size() {
		return nil
	}
	return p.Send(rank+1, c.Recv)
}
