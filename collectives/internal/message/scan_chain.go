package message

// ScanChain leaves at rank i the combination of send of the ranks 0 to i: each rank gets the
// combination of those before it, adds its own and passes it on. recv may be send.
//
// Restrictions: none; the operands are combined from left to right, so that the bits of the
// result are those of a loop over the ranks.
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
