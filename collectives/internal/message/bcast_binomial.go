package message

// BcastBinomial broadcasts c.Recv of root to all ranks along a binomial tree. A rank that has the
// data is the first rank of a range of ranks, for which it is responsible. It halves the range,
// sends the data to the first rank of the second half, and goes on with the first half.
//
// Restrictions: none. Cost: ceil(log p) (alpha + n beta); best for small n.
func BcastBinomial(p Peer, c *Call) error {
	return descend(p, c.Root, func(int, int) []byte { return c.Recv })
}

// descend passes data from root to all ranks along the tree of BcastBinomial. The ranks are numbered from root: rank
// root+v (modulo p) has number v. data(i, j) returns the memory of the data for the ranks whose numbers are at least i
// and less than j. The parent of rank number i sends this data to it.
func descend(p Peer, root int, data func(from, to int) []byte) error {
	size := p.Size()
	me := (p.Rank() - root + size) % size
	mask := 1
	for ; mask < size; mask <<= 1 {
		if me&mask != 0 {
			if err := p.Recv((me-mask+root)%size, data(me, min(me+mask, size))); err != nil {
				return err
			}
			break
		}
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		if far := me + mask; far < size {
			if err := p.Send((far+root)%size, data(far, min(far+mask, size))); err != nil {
				return err
			}
		}
	}
	return nil
}
