package message

// ReduceOrdered combines send of all ranks in recv of root, in the order of the ranks: along a
// binomial tree whose root is rank 0, which then sends the result to rank root. recv is used at rank
// root only, where it may be send.
//
// Restrictions: none. It is for operators that are not commutative: the operands stay in the order of
// the ranks, and the tree determines how they are grouped.
// Cost: ceil(log p) (alpha + n beta + n gamma), and alpha + n beta if root is
// not rank 0.
func ReduceOrdered(p Peer, c *Call) error {
	send, recv, root, r := c.Send, c.Recv, c.Root, c.Reduction
	n := len(send)
	scratch := p.Scratch(2 * n)
	acc, in := scratch[:n], scratch[n:]
	if p.Rank() == root && root == 0 {
		acc = recv
	}
	if err := reduceTree(p, send, acc, in, 0, r); err != nil || root == 0 {
		return err
	}
	switch p.Rank() {
	case 0:
		return p.Send(root, acc)
	case root:
		return p.Recv(0, recv)
	}
	return nil
}
