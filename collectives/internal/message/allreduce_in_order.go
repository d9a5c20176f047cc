package message

// AllReduceInOrder reduces c.Send of all ranks into c.Recv of every rank. It executes a reduce-scatter,
// as ReduceScatterInOrder does, and then an allgather around the ring of the ranks. c.Recv may be the
// same memory as c.Send.
//
// Restrictions: none. The operands are combined from left to right, so that the result has the same
// bits as the result of a loop over the ranks. Blocks may be empty.
// Cost: 2 (p-1) alpha + 2 n (p-1)/p beta + n (p-1)/p gamma, and memory for n bytes.
func AllReduceInOrder(p Peer, c *Call) error {
	b := cut(len(c.Send), c.Reduction.Elem, p.Size())
	mine := b.of(c.Recv, p.Rank())
	result, err := combineShare(p, func(q int) []byte { return b.of(c.Send, q) }, mine, c.Reduction)
	if err != nil {
		return err
	}
	p.Copy(mine, result)
	return passOn(p, func(i int) []byte { return b.of(c.Recv, i) }, p.Rank())
}
