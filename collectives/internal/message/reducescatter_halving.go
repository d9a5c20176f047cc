package message

// ReduceScatterHalving combines c.Send of all ranks, and stores part i of the result in c.Recv of rank
// i, by recursive halving. At first every rank is responsible for all parts. In each round two ranks
// are responsible for the same parts, and divide them: each rank keeps one half and sends its partial
// result of the other half to the other rank. The distance between the two ranks is halved from round
// to round. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication
// operations in MPICH", International Journal of High Performance Computing Applications 19 (2005),
// section 4.4. c.Recv may be the same memory as this rank's part of c.Send.
//
// If p is not a power of two, the ranks are folded as in AllReduceRecursiveDoubling. The upper rank
// of a pair is responsible for the parts of both ranks. At the end it sends the lower rank the lower
// rank's part.
//
// Restrictions: the operator is commutative. Parts may be empty.
// Cost: log p alpha + n (p-1)/p (beta + gamma) for n bytes in all if p is a power of two, otherwise
// 2 alpha + n beta + n gamma more; best for short parts.
func ReduceScatterHalving(p Peer, c *Call) error {
	n, r := len(c.Send), c.Reduction
	scratch := p.Scratch(2 * n)
	acc, in := scratch[:n], scratch[n:]
	p.Copy(acc, c.Send)
	f := foldOf(p)
	if active, err := f.enter(p, acc, in, c.Recv, r); err != nil || !active {
		return err
	}
	// off returns the offset of block i. The ranks that take part in the rounds are numbered, and
	// rank number i combines block i. If rank number i is the upper rank of a pair, block i begins
	// with the part of the lower rank of the pair. Otherwise block i begins with the part of the
	// rank itself.
	off := func(i int) int {
		switch {
		case i == f.power:
			return n
		case i < f.extra:
			return c.SendParts.Offset(2 * i)
		}
		return c.SendParts.Offset(i + f.extra)
	}
	if err := halve(p, halves{f.power, f.me, f.rank, off}, acc, in, r); err != nil {
		return err
	}
	rank := p.Rank()
	p.Copy(c.Recv, c.SendParts.Of(acc, rank))
	if rank < 2*f.extra {
		return p.Send(rank-1, c.SendParts.Of(acc, rank-1))
	}
	return nil
}

// halves describes the ranks of a reduce-scatter with recursive halving. The ranks are numbered
// from 0.
type halves struct {
	// power is the number of these ranks, a power of two. me is the number of this rank.
	power, me int
	// rank returns the rank that has number i. off returns the offset of block i in bytes.
	rank, off func(i int) int
}

// halve executes a reduce-scatter with recursive halving. acc has this rank's contribution at
// first. Afterwards block me of acc is the result for block me; the other blocks are undefined. The
// argument in is scratch memory of the same length as acc.
func halve(p Peer, h halves, acc, in []byte, r Reduction) error {
	low, high := 0, h.power
	for mask := h.power / 2; mask > 0; mask /= 2 {
		peer, mid := h.rank(h.me^mask), (low+high)/2
		giveLow, giveHigh := mid, high
		if h.me&mask != 0 {
			giveLow, giveHigh = low, mid
			low = mid
		} else {
			high = mid
		}
		keep := acc[h.off(low):h.off(high)]
		got := in[:len(keep)]
		if err := p.Exchange(peer, acc[h.off(giveLow):h.off(giveHigh)], peer, got); err != nil {
			return err
		}
		r.Fn(keep, keep, got)
	}
	return nil
}
