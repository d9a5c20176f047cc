package message

// BcastBinomial broadcasts c.Recv of root to all ranks along a binomial tree. A rank that has the
// data is the first rank of a range of ranks, for which it is responsible. It halves the range,
// sends the data to the first rank of the second half, and goes on with the first half.
//
// Restrictions: none. Cost: ceil(log p) (alpha + n beta); best for small n.
func BcastBinomial(p Peer, c *Call) error {
	buf, root := c.Recv, c.Root
	size := p.Size()
	me := (p.Rank() - root + size) % size
	mask := 1
	for ; mask < size; mask <<= 1 {
		if me&mask != 0 {
			if err := p.Recv((me-mask+root)%size, buf); err != nil {
				return err
			}
			break
		}
	}
	for mask >>= 1; mask > 0; mask >>= 1 {
		if me+mask < size {
			if err := p.Send((me+mask+root)%size, buf); err != nil {
				return err
			}
		}
	}
	return nil
}
