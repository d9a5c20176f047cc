package message

// AllReduceRing reduces c.Send of all ranks into c.Recv of every rank. It is a reduce-scatter and
// then an allgather, both around the ring of the ranks. P. Patarasuk and X. Yuan, "Bandwidth
// optimal all-reduce algorithms for clusters of workstations", Journal of Parallel and Distributed
// Computing 69 (2009). c.Recv may be the same memory as c.Send.
//
// Restrictions: the operator is commutative, because the operands of block i are taken in the order
// i, i+1, ..., i-1 of the ranks. All ranks get the same bits. Blocks may be empty.
// Cost: 2 (p-1) alpha + 2 n (p-1)/p beta + n (p-1)/p gamma; best for large n.
func AllReduceRing(p Peer, c *Call) error {
	send, recv, r := c.Send, c.Recv, c.Reduction
	rank, size := p.Rank(), p.Size()
	next, prev := (rank+1)%size, (rank-1+size)%size
	b := cut(len(recv), r.Elem, size)
	scratch := p.Scratch(b.off(1))
	if size == 1 {
		p.Copy(recv, send)
		return nil
	}
	partial := send // the buffer of the next block to send: at first this rank's own contribution
	for step := range size - 1 {
		out, in := (rank-step+size)%size, (rank-step-1+size)%size
		mine := b.of(send, in)
		got := scratch[:len(mine)]
		if err := p.Exchange(next, b.of(partial, out), prev, got); err != nil {
			return err
		}
		r.Fn(b.of(recv, in), got, mine)
		partial = recv
	}
	return passOn(p, func(i int) []byte { return b.of(recv, i) }, (rank+1)%size)
}
