package message

// ScanTree combines c.Send of the ranks 0 to i into c.Recv of rank i, for all i, in two passes over
// a tree. G. Blelloch, "Scans as primitive parallel operations", IEEE Transactions on Computers 38
// (1989). The tree has the shape of R. Brent and H. Kung, "A regular layout for parallel adders",
// IEEE Transactions on Computers 31 (1982), but works for any p and does not need the identity of
// the operator. c.Recv may be the same memory as c.Send.
//
// In level k of the upward pass each rank r for which r+1 is a multiple of 2^k combines the
// contributions of the ranks r-2^k+1 to r. The downward pass has a step for each k, the largest k
// first. In step k, each rank r for which r+1 is a multiple of 2^(k+1) has its complete result. Rank
// r sends this result to the rank r+2^k, which combines the received result with its own partial
// result.
//
// Restrictions: none. The operands stay in the order of the ranks. Cost: 2 log p (alpha + n beta + n
// gamma). ScanTree sends at most 2p messages in all; ScanRecursiveDoubling sends about p log p. So
// ScanTree is best for many ranks on a loaded network.
func ScanTree(p Peer, c *Call) error {
	p.Copy(c.Recv, c.Send)
	return scanTree(p, c.Recv, p.Scratch(len(c.Recv)), c.Reduction)
}

// scanTree executes ScanTree. acc has this rank's contribution at first and its result at the end.
// The argument in is scratch memory of the same length as acc.
func scanTree(p Peer, acc, in []byte, r Reduction) error {
	if err := scanUp(p, acc, in, r); err != nil {
		return err
	}
	size, after := p.Size(), p.Rank()+1 // after is the number of ranks up to and including this one
	for step := powerBelow(size); step > 0; step >>= 1 {
		switch after % (2 * step) {
		case 0:
			if after+step <= size {
				if err := p.Send(p.Rank()+step, acc); err != nil {
					return err
				}
			}
		case step:
			if after == step {
				continue // the upward pass has combined all ranks up to this one
			}
			if err := p.Recv(p.Rank()-step, in); err != nil {
				return err
			}
			r.Fn(acc, in, acc)
		}
	}
	return nil
}

// scanUp executes the upward pass.
func scanUp(p Peer, acc, in []byte, r Reduction) error {
	size, after := p.Size(), p.Rank()+1
	for top := 1; top < size; top <<= 1 {
		if after%(2*top) == top {
			if after+top <= size {
				if err := p.Send(p.Rank()+top, acc); err != nil {
					return err
				}
			}
			return nil
		}
		if after%(2*top) != 0 {
			continue
		}
		if err := p.Recv(p.Rank()-top, in); err != nil {
			return err
		}
		r.Fn(acc, in, acc)
	}
	return nil
}
