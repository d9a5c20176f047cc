package message

// ScanRecursiveDoubling combines c.Send of the ranks 0 to i into c.Recv of rank i, for all i. In
// round k the ranks are in blocks of 2^k consecutive ranks. Ranks whose numbers differ only in bit k
// exchange the combinations of the contributions of their two blocks. The algorithm is that of W. D.
// Hillis and G. L. Steele, "Data parallel algorithms", Communications of the ACM 29 (1986), but ranks
// exchange in pairs, and the operands stay in the order of the ranks. c.Recv may be the same memory as
// c.Send.
//
// Restrictions: none. Cost: ceil(log p) (alpha + n beta + 2 n gamma).
func ScanRecursiveDoubling(p Peer, c *Call) error {
	p.Copy(c.Recv, c.Send)
	return doubleScan(p, c.Recv, c.Reduction, func(before []byte) {
		c.Reduction.Fn(c.Recv, before, c.Recv)
	})
}

// doubleScan executes the exchanges of ScanRecursiveDoubling. The argument own is this rank's
// contribution. When doubleScan receives the combination of a block of lower ranks, it calls prefix
// with this combination. The blocks of all these calls together consist of all lower ranks. The call
// for the nearest block comes first. prefix may change own.
func doubleScan(p Peer, own []byte, r Reduction, prefix func(before []byte)) error {
	rank, n := p.Rank(), len(own)
	scratch := p.Scratch(2 * n)
	block, in := scratch[:n], scratch[n:]
	p.Copy(block, own)
	for mask := 1; mask < p.Size(); mask <<= 1 {
		peer := rank ^ mask
		if peer >= p.Size() {
			continue
		}
		if err := p.Exchange(peer, block, peer, in); err != nil {
			return err
		}
		if peer > rank {
			r.Fn(block, block, in)
			continue
		}
		r.Fn(block, in, block)
		prefix(in)
	}
	return nil
}
