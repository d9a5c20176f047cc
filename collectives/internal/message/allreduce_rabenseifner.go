package message

// AllReduceRabenseifner reduces c.Send of all ranks into c.Recv of every rank. It is a
// reduce-scatter with recursive halving and then an allgather with recursive doubling. R.
// Rabenseifner, "Optimization of collective reduction operations", International Conference on
// Computational Science (2004). c.Recv may be the same memory as c.Send.
//
// If p is not a power of two, the ranks are folded as in AllReduceRecursiveDoubling.
//
// Restrictions: the operator is commutative. Blocks may be empty. All ranks get the same bits, because
// a single rank computes the result of each block. Cost: 2 log p alpha + 2 n (p-1)/p beta + n (p-1)/p
// gamma if p is a power of two.
func AllReduceRabenseifner(p Peer, c *Call) error {
	send, recv, r := c.Send, c.Recv, c.Reduction
	p.Copy(recv, send)
	in := p.Scratch(len(recv))
	f := foldOf(p)
	if active, err := f.enter(p, recv, in, recv, r); err != nil || !active {
		return err
	}
	b := cut(len(recv), r.Elem, f.power)
	if err := halve(p, halves{f.power, f.me, f.rank, b.off}, recv, in, r); err != nil {
		return err
	}
	if err := double(p, b, recv, f.me, f.rank); err != nil {
		return err
	}
	return f.leave(p, recv)
}
