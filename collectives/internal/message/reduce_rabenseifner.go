package message

// ReduceRabenseifner reduces c.Send of all ranks into c.Recv of root. It is a reduce-scatter with
// recursive halving and then a gather along a binomial tree. R. Rabenseifner, "Optimization of
// collective reduction operations", International Conference on Computational Science (2004).
// c.Recv is used at root only, where it may be the same memory as c.Send.
//
// If p is not a power of two, let 2^m be the largest power of two below p. Count the ranks from root.
// Among the first 2(p-2^m) ranks of this count, each odd rank sends its contribution to the next lower
// rank. The odd rank then takes no further part in the operation.
//
// Restrictions: the operator is commutative. Blocks may be empty.
// Cost: 2 log p alpha + 2 n (p-1)/p beta + n (p-1)/p gamma if p is a power of two, otherwise alpha
// + n beta + n gamma more; best for large n.
func ReduceRabenseifner(p Peer, c *Call) error {
	send, root, r := c.Send, c.Root, c.Reduction
	n := len(send)
	scratch := p.Scratch(2 * n)
	acc, in := scratch[:n], scratch[n:]
	if p.Rank() == root {
		acc = c.Recv
	}
	p.Copy(acc, send)
	size := p.Size()
	power := powerBelow(size)
	extra := size - power
	v := (p.Rank() - root + size) % size
	me := v - extra
	if v < 2*extra {
		if v%2 == 1 {
			return p.Send((v-1+root)%size, acc)
		}
		if err := p.Recv((v+1+root)%size, in); err != nil {
			return err
		}
		r.Fn(acc, acc, in)
		me = v / 2
	}
	rank := func(i int) int {
		if i < extra {
			return (2*i + root) % size
		}
		return (i + extra + root) % size
	}
	b := cut(n, r.Elem, power)
	if err := halve(p, halves{power, me, rank, b.off}, acc, in, r); err != nil {
		return err
	}
	for mask := 1; mask < power; mask <<= 1 {
		if me&mask != 0 {
			return p.Send(rank(me-mask), b.span(acc, me, me+mask))
		}
		if err := p.Recv(rank(me+mask), b.span(acc, me+mask, me+2*mask)); err != nil {
			return err
		}
	}
	return nil
}
