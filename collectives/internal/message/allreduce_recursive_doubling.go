package message

// AllReduceRecursiveDoubling reduces c.Send of all ranks into c.Recv of every rank. In round k,
// ranks whose numbers differ only in bit k exchange and combine their partial results. R. Thakur,
// R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH",
// International Journal of High Performance Computing Applications 19 (2005), section 4.5. c.Recv
// may be the same memory as c.Send.
//
// If p is not a power of two, let 2^m be the largest power of two below p. Before the rounds the first
// 2(p-2^m) ranks are folded: they form pairs of neighbors, and the lower rank of each pair sends its
// contribution to the upper rank. Only the upper ranks of the pairs and the ranks without a pair take
// part in the rounds. These ranks are numbered from 0 to 2^m-1. At the end each lower rank receives the
// result from the upper rank of its pair.
//
// Restrictions: none. In each combination the left operand is from lower ranks than the right
// operand. So the operator need not be commutative, and all ranks get the same bits.
// Cost: ceil(log p) (alpha + n beta + n gamma), and alpha + n beta more if p is not a power of two;
// best for small n.
func AllReduceRecursiveDoubling(p Peer, c *Call) error {
	send, recv, r := c.Send, c.Recv, c.Reduction
	p.Copy(recv, send)
	in := p.Scratch(len(recv))
	f := foldOf(p)
	if active, err := f.enter(p, recv, in, recv, r); err != nil || !active {
		return err
	}
	for mask := 1; mask < f.power; mask <<= 1 {
		peer := f.rank(f.me ^ mask)
		if err := p.Exchange(peer, recv, peer, in); err != nil {
			return err
		}
		if peer < p.Rank() {
			r.Fn(recv, in, recv)
		} else {
			r.Fn(recv, recv, in)
		}
	}
	return f.leave(p, recv)
}

// fold reduces the number of ranks that take part in the rounds to the field power, a power of two. The
// field extra is the number of pairs of neighbors that the first 2*extra ranks form. Of each pair,
// only the upper rank continues. me is this rank's number among the ranks that continue.
type fold struct{ power, extra, me int }

// foldOf returns the fold of the group. At the lower rank of a pair, me is the number of the upper
// rank.
func foldOf(p Peer) fold {
	f := fold{power: powerBelow(p.Size())}
	f.extra = p.Size() - f.power
	f.me = p.Rank() - f.extra
	if p.Rank() < 2*f.extra {
		f.me = p.Rank() / 2
	}
	return f
}

// rank returns the rank that continues as number i.
func (f fold) rank(i int) int {
	if i < f.extra {
		return 2*i + 1
	}
	return i + f.extra
}

// enter folds the ranks, and reports whether this rank takes part in the rounds. The upper rank of
// each pair combines both contributions in acc. The argument in is scratch memory of the same length
// as acc. The lower rank sends acc to the upper rank, waits for the final result, and receives it into
// result.
func (f fold) enter(p Peer, acc, in, result []byte, r Reduction) (active bool, err error) {
	rank := p.Rank()
	switch {
	case rank >= 2*f.extra:
		return true, nil
	case rank%2 == 0:
		if err := p.Send(rank+1, acc); err != nil {
			return false, err
		}
		return false, p.Recv(rank+1, result)
	}
	if err := p.Recv(rank-1, in); err != nil {
		return false, err
	}
	r.Fn(acc, in, acc)
	return true, nil
}

// leave sends the result to the lower rank of this rank's pair, if this rank is in a pair.
func (f fold) leave(p Peer, acc []byte) error {
	if p.Rank() >= 2*f.extra {
		return nil
	}
	return p.Send(p.Rank()-1, acc)
}
