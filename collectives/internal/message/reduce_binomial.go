package message

// ReduceBinomial reduces c.Send of all ranks into c.Recv of root, along a binomial tree whose ranks
// are counted from root. c.Recv is used at root only, where it may be the same memory as c.Send.
//
// Restrictions: the operator is commutative, because the operands are taken in the order root,
// root+1, ..., root-1 of the ranks.
// Cost: ceil(log p) (alpha + n beta + n gamma).
func ReduceBinomial(p Peer, c *Call) error {
	send, recv, root, r := c.Send, c.Recv, c.Root, c.Reduction
	n := len(send)
	scratch := p.Scratch(2 * n)
	acc, in := scratch[:n], scratch[n:]
	if p.Rank() == root {
		acc = recv
	}
	return reduceTree(p, send, acc, in, root, r)
}

// reduceTree combines the contributions send of all ranks along the binomial tree of the ranks,
// counted from lead. In this count, the left operand of a combination is always from lower ranks
// than the right operand. At rank lead the result is in acc; at other ranks acc is scratch memory.
// The argument in is scratch memory. acc may be the same memory as send.
func reduceTree(p Peer, send, acc, in []byte, lead int, r Reduction) error {
	size := p.Size()
	me := (p.Rank() - lead + size) % size
	have := send // becomes acc with the first combination
	for mask := 1; mask < size; mask <<= 1 {
		if me&mask != 0 {
			return p.Send((me-mask+lead)%size, have)
		}
		if me+mask >= size {
			continue
		}
		if err := p.Recv((me+mask+lead)%size, in); err != nil {
			return err
		}
		r.Fn(acc, have, in)
		have = acc
	}
	p.Copy(acc, have)
	return nil
}
