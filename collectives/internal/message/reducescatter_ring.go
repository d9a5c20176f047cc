package message

// ReduceScatterRing combines c.Send of all ranks, and stores part i of the result in c.Recv of rank
// i. The partial result of part i passes around the ring from rank i+1 to rank i, and each rank
// combines it with its own contribution. The algorithm is the first half of AllReduceRing (Patarasuk
// and Yuan 2009). c.Recv may be the same memory as this rank's part of c.Send.
//
// Restrictions: the operator is commutative, because the operands of part i are taken in the order
// i+1, i+2, ..., i of the ranks. Parts may be empty.
// Cost: (p-1) alpha + n (p-1)/p (beta + gamma) for equal parts of n bytes in all; best for long
// parts, for which the p-1 latencies matter little. All messages travel between neighbors in the
// ring.
func ReduceScatterRing(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	next, prev := (rank+1)%size, (rank-1+size)%size
	longest := c.SendParts.Longest(size)
	scratch := p.Scratch(2 * longest)
	room, other := scratch[:longest], scratch[longest:]
	have := c.SendParts.Of(c.Send, prev)
	for step := 1; step < size; step++ {
		own := c.SendParts.Of(c.Send, (rank-step-1+size)%size)
		got := room[:len(own)]
		if err := p.Exchange(next, have, prev, got); err != nil {
			return err
		}
		c.Reduction.Fn(got, got, own)
		have, room, other = got, other, room
	}
	p.Copy(c.Recv, have)
	return nil
}
