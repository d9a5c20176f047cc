package message

// ExScanTree combines in recv of every rank, but rank 0, send of all ranks before it: it is
// ScanTree, whose results then move to the next rank. recv may be send; that of rank 0 stays as it
// is.
//
// Restrictions: none; the operands stay in the order of the ranks.
// Cost: that of ScanTree, and alpha + n beta.
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
