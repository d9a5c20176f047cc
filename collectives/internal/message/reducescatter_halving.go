package message

// ReduceScatterHalving combines send of all ranks and leaves part i at rank i: in each round
// ranks whose distance is half of the last one's exchange half of what they are responsible for.
// R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations
// in MPICH", International Journal of High Performance Computing Applications 19 (2005), section
// 4.4. recv may be this rank's part of send.
//
// When p is not a power of two, the first 2(p-2^k) ranks are folded in pairs of neighbours, as in
// AllReduceRecursiveDoubling: the upper one works for both.
//
// Restrictions: the operator is commutative. Parts may be empty.
// Cost: log p alpha + n (p-1)/p (beta + gamma) for a power of two and n bytes in all, 2 alpha + n
// beta + n gamma more for others; best for short parts.
func ReduceScatterHalving(p Peer, c *Call) error {
	n, r := len(c.Send), c.Reduction
	scratch := p.Scratch(2 * n)
	acc, in := scratch[:n], scratch[n:]
	p.Copy(acc, c.Send)
	f := foldOf(p)
	rank := p.Rank()
	if rank < 2*f.extra && rank%2 == 0 {
		if err := p.Send(rank+1, acc); err != nil {
			return err
		}
		return p.Recv(rank+1, c.Recv)
	}
	if rank < 2*f.extra {
		if err := p.Recv(rank-1, in); err != nil {
			return err
		}
		r.Fn(acc, in, acc)
	}
	// Number i of those that continue is responsible for the parts from that of the rank it works
	// for, or its own, on.
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
	p.Copy(c.Recv, c.SendParts.Of(acc, rank))
	if rank < 2*f.extra {
		return p.Send(rank-1, c.SendParts.Of(acc, rank-1))
	}
	return nil
}

// halves are the ranks of a reduce-scatter with recursive halving.
type halves struct {
	// power is their number, a power of two, me this one's.
	power, me int
	// rank returns the rank that is number i, off where block i begins.
	rank, off func(i int) int
}

// halve is the reduce-scatter with recursive halving: afterwards block me of acc is combined at
// number me. in is scratch as long as acc.
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
