package message

// ReduceScatterPairwise combines c.Send of all ranks, and stores part i of the result in c.Recv of rank
// i. In round k rank r sends the part for rank r+k to that rank. It receives the part for itself from
// rank r-k, and combines this part with its partial result. R. Thakur, R. Rabenseifner and W. Gropp,
// "Optimization of collective communication operations in MPICH", International Journal of High
// Performance Computing Applications 19 (2005), section 4.4. c.Recv may be the same memory as this
// rank's part of c.Send.
//
// Restrictions: the operator is commutative, because the operands of part i are taken in the order
// i+1, i+2, ..., i of the ranks and are combined from right to left. Parts may be empty. Cost: (p-1)
// alpha + n (p-1)/p (beta + gamma) for equal parts of n bytes in all; best for large parts.
func ReduceScatterPairwise(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	own := c.SendParts.Of(c.Send, rank)
	scratch := p.Scratch(2 * len(own))
	acc, in := scratch[:len(own)], scratch[len(own):]
	p.Copy(acc, own)
	for k := 1; k < size; k++ {
		to, from := (rank+k)%size, (rank-k+size)%size
		if err := p.Exchange(to, c.SendParts.Of(c.Send, to), from, in); err != nil {
			return err
		}
		c.Reduction.Fn(acc, in, acc)
	}
	p.Copy(c.Recv, acc)
	return nil
}
