package message

// ExScanTree combines c.Send of the ranks 0 to i-1 into c.Recv of rank i, for all i > 0. The
// ranks execute ScanTree in scratch memory, and then each rank sends its result to the next rank.
// c.Recv may be the same memory as c.Send; c.Recv of rank 0 stays unchanged.
//
// Restrictions: none. The operands stay in the order of the ranks.
// Cost: the cost of ScanTree, and alpha + n beta.
func ExScanTree(p Peer, c *Call) error {
	rank, size, n := p.Rank(), p.Size(), len(c.Send)
	scratch := p.Scratch(2 * n)
	acc, in := scratch[:n], scratch[n:]
	p.Copy(acc, c.Send)
	if err := scanTree(p, acc, in, c.Reduction); err != nil || size == 1 {
		return err
	}
	switch rank {
	case 0:
		return p.Send(1, acc)
	case size - 1:
		return p.Recv(rank-1, c.Recv)
	}
	return p.Exchange(rank+1, acc, rank-1, c.Recv)
}
