package message

// ReduceScatterPairwise combines send of all ranks and leaves part i at rank i: in round k a
// rank sends the part of the rank k after it to that rank, and combines what it gets from the
// one k before it with what it has. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization
// of collective communication operations in MPICH", International Journal of High
// Performance Computing Applications 19 (2005), section 4.4. recv may be this rank's part of
// send.
//
// Restrictions: the operator is commutative: part i is combined in the order i, i-1, ...,
// i+1 of the ranks. Parts may be empty.
// Cost: (p-1) alpha + n (p-1)/p (beta + gamma) for equal parts of n bytes in all; best for
// large ones.
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
