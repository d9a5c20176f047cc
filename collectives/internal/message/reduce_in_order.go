package message

// ReduceInOrder reduces c.Send of all ranks into c.Recv of root. It executes a reduce-scatter, as
// ReduceScatterInOrder does. Then all ranks send their blocks to root. c.Recv is used at root only,
// where it may be the same memory as c.Send.
//
// Restrictions: none. The operands are combined from left to right, so that the result has the same
// bits as the result of a loop over the ranks. Blocks may be empty.
// Cost: 2 (p-1) alpha + 2 n (p-1)/p beta + n (p-1)/p gamma, and memory for n bytes.
func ReduceInOrder(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	b := cut(len(c.Send), c.Reduction.Elem, size)
	var mine []byte
	if rank == c.Root {
		mine = b.of(c.Recv, rank)
	}
	result, err := combineShare(p, func(q int) []byte { return b.of(c.Send, q) }, mine, c.Reduction)
	if err != nil {
		return err
	}
	if rank != c.Root {
		return p.Send(c.Root, result)
	}
	p.Copy(mine, result)
	for k := 1; k < size; k++ {
		q := (rank + k) % size
		if err := p.Recv(q, b.of(c.Recv, q)); err != nil {
			return err
		}
	}
	return nil
}
