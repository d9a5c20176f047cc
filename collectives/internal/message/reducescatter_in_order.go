package message

// ReduceScatterInOrder combines c.Send of all ranks, and stores part i of the result in c.Recv of
// rank i. Rank i receives part i of c.Send from all other ranks, and then combines these parts in a
// loop over the ranks. c.Recv may be the same memory as this rank's part of c.Send.
//
// Restrictions: none. The operands are combined from left to right, so that the result has the same
// bits as the result of a loop over the ranks. Parts may be empty.
// Cost: (p-1) alpha + n (p-1)/p (beta + gamma) for equal parts of n bytes in all, and memory for n
// bytes.
func ReduceScatterInOrder(p Peer, c *Call) error {
	result, err := combineShare(p, func(q int) []byte { return c.SendParts.Of(c.Send, q) }, c.Recv, c.Reduction)
	if err == nil {
		p.Copy(c.Recv, result)
	}
	return err
}

// combineShare is a reduce-scatter. Rank q gets the combination of all ranks' contributions to the share
// of rank q. share(q) is this rank's contribution to the share of rank q. combineShare sends share(q) to
// rank q, for all q. It receives all ranks' contributions to this rank's share, and combines them from
// left to right. The result is in dst or, if dst is nil, in scratch memory. If there is only one rank,
// the result is share(0) itself. dst may be the same memory as this rank's contribution to its own
// share.
func combineShare(p Peer, share func(q int) []byte, dst []byte, r Reduction) ([]byte, error) {
	rank, size := p.Rank(), p.Size()
	own := share(rank)
	n := len(own)
	room := p.Scratch(n * size)
	for k := 1; k < size; k++ {
		to, from := (rank+k)%size, (rank-k+size)%size
		if err := p.Exchange(to, share(to), from, room[from*n:][:n]); err != nil {
			return nil, err
		}
	}
	if dst == nil {
		dst = room[:n]
	}
	operand := func(q int) []byte {
		if q == rank {
			return own
		}
		return room[q*n:][:n]
	}
	acc := operand(0)
	for q := 1; q < size; q++ {
		// room[:n], which held rank 0's contribution, may be overwritten now. dst may be the same
		// memory as own, which is still an operand. So only the last combination may write to dst.
		into := room[:n]
		if q == size-1 {
			into = dst
		}
		r.Fn(into, acc, operand(q))
		acc = into
	}
	return acc, nil
}
