package message

// ReduceOrdered reduces c.Send of all ranks into c.Recv of root, in the order of the ranks. The
// contributions are combined along a binomial tree whose root is rank 0; then rank 0 sends the
// result to rank c.Root. c.Recv is used at rank c.Root only, where it may be the same memory as
// c.Send.
//
// Restrictions: none. ReduceOrdered is for operators that are not commutative: the operands stay in
// the order of the ranks, and only the tree determines how they are grouped.
// Cost: ceil(log p) (alpha + n beta + n gamma), and alpha + n beta if c.Root is not rank 0.
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
