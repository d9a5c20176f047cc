package message

// ScanTree combines in recv of every rank send of all ranks up to and with it, in two passes over a
// tree. G. Blelloch, "Scans as primitive parallel operations", IEEE Transactions on Computers 38
// (1989); the shape is that of R. Brent and H. Kung, "A regular layout for parallel adders", IEEE
// Transactions on Computers 31 (1982), for any p and without the identity of the operator.
//
// Upwards, rank r with r+1 a multiple of 2^k combines what the last 2^k ranks have. Downwards, a
// rank whose result is complete gives it to the rank 2^k after it, for falling k.
//
// Restrictions: none; the operands stay in the order of the ranks. recv may be send.
// Cost: 2 log p (alpha + n beta + n gamma), with 2p messages in all, where recursive doubling has
// p log p; best for many ranks on a loaded network.
func ScanTree(p Peer, c *Call) error {
	p.Copy(c.Recv, c.Send)
	return scanTree(p, c.Recv, p.Scratch(len(c.Recv)), c.Reduction)
}

// scanTree is ScanTree in acc; in is scratch as long as acc.
func scanTree(p Peer, acc, in []byte, r Reduction) error {
	if err := scanUp(p, acc, in, r); err != nil {
		return err
	}
	size, after := p.Size(), p.Rank()+1 // after is the number of ranks up to and with this one
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
				continue // the first ranks are complete
			}
			if err := p.Recv(p.Rank()-step, in); err != nil {
				return err
			}
			r.Fn(acc, in, acc)
		}
	}
	return nil
}

// scanUp is the pass upwards.
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
