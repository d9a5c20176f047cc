package message

// BcastBinomial sends buf of root to everyone along a binomial tree: a rank that
// has the data halves the ranks it is responsible for and sends to the first of
// the far half.
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
