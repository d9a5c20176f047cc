package message

// ReduceScatterPAT combines send of all ranks and leaves part i at rank i along the trees of
// AllGatherPAT, in the other direction (Jeaugey 2025). recv may be this rank's part of send.
//
// Restrictions: the operator is commutative: part i is combined in the order i, i+1, ..., i-1 of
// the ranks. Parts may be empty. Cost: ceil(log p) alpha + n (p-1)/p (beta + gamma) for equal parts
// of n bytes in all, and a copy of them; a message has at most 64 KiB or one part.
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
