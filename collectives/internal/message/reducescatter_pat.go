package message

// ReduceScatterPAT combines c.Send of all ranks, and stores part i of the result in c.Recv of rank
// i, along the trees of AllGatherPAT in the opposite direction (Jeaugey 2025). c.Recv may be the
// same memory as this rank's part of c.Send.
//
// Restrictions: the operator is commutative, because the operands of part i are taken in the order
// i, i+1, ..., i-1 of the ranks. Parts may be empty. A message has one part, or several that
// together have at most 64 KiB.
// Cost: ceil(log p) alpha + n (p-1)/p (beta + gamma) for equal parts of n bytes in all, one alpha more
// for each message of a round beyond the first message of that round, and a copy of all parts.
func ReduceScatterPAT(p Peer, c *Call) error {
	rank, size := p.Rank(), p.Size()
	t, acc := newPAT(p, c.SendParts, nil, len(c.Send))
	p.Copy(acc, c.Send)
	t.buf = acc
	for d := 1; d < size; d *= 2 {
		to, from := (rank-d+size)%size, (rank+d)%size
		if err := t.round(d, to, to, from, rank, func(own, got []byte) { c.Reduction.Fn(own, own, got) }); err != nil {
			return err
		}
	}
	p.Copy(c.Recv, c.SendParts.Of(acc, rank))
	return nil
}
