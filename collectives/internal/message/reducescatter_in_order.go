package message

// ReduceScatterInOrder combines send of all ranks and leaves part i at rank i, which gets
// that part of all others and then combines them in a loop over the ranks. recv may be this
// rank's part of send.
//
// Restrictions: none; the operands are combined from left to right, so that the bits of the
// result are those of a loop. Parts may be empty.
// Cost: (p-1) alpha + n (p-1)/p (beta + gamma) for equal parts of n bytes in all, and memory
// for n bytes.
func ReduceScatterInOrder(p Peer, c *Call) error {
	result, err := combineShare(p, func(q int) []byte { return c.SendParts.Of(c.Send, q) }, c.Recv, c.Reduction)
	if err == nil {
		p.Copy(c.Recv, result)
	}
	return err
}

// combineShare sends to every rank its share of what this rank has, and combines this rank's
// share of all ranks from left to right. The result is in dst or, if that is nil, in scratch
// memory; that of one rank is its share. dst may be this rank's share.
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
		// The room of rank 0 is free from now on; dst is not, for it may be own.
		into := room[:n]
		if q == size-1 {
			into = dst
		}
		r.Fn(into, acc, operand(q))
		acc = into
	}
	return acc, nil
}
