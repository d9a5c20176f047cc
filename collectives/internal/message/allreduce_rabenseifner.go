package message

import "github.com/gorun-hpc/gorun/collectives/internal/kernel"

// AllReduceRabenseifner combines by a reduce-scatter with recursive halving and
// an allgather with recursive doubling. R. Rabenseifner, "Optimization of
// collective reduction operations", International Conference on Computational
// Science (2004).
//
// Restrictions: the operator is commutative. p that is no power of two is folded
// as in recursive doubling. Blocks may be empty. All ranks get the same bits,
// for each block is finished by one rank. recv may be send.
// Cost: 2 log p alpha + 2 n (p-1)/p beta + n (p-1)/p gamma for a power of two.
func AllReduceRabenseifner(p Peer, send, recv []byte, r Reduction) error {
	kernel.Copy(recv, send)
	in := p.Scratch(len(recv))
	f := foldOf(p)
	if active, err := f.enter(p, recv, in, r); err != nil || !active {
		return err
	}
	b := cut(len(recv), r.Elem, f.power)
	// This rank is responsible for the blocks [low, high).
	low, high := 0, f.power
	for mask := f.power / 2; mask > 0; mask /= 2 {
		peer, mid := f.rank(f.me^mask), (low+high)/2
		keepLow, keepHigh, giveLow, giveHigh := low, mid, mid, high
		if f.me&mask != 0 {
			keepLow, keepHigh, giveLow, giveHigh = mid, high, low, mid
		}
		keep := b.span(recv, keepLow, keepHigh)
		got := in[:len(keep)]
		if err := p.Exchange(peer, b.span(recv, giveLow, giveHigh), peer, got); err != nil {
			return err
		}
		r.Fn(keep, keep, got)
		low, high = keepLow, keepHigh
	}
	for mask := 1; mask < f.power; mask <<= 1 {
		peer, width := f.rank(f.me^mask), high-low
		other := low ^ mask
		if err := p.Exchange(peer, b.span(recv, low, high), peer, b.span(recv, other, other+width)); err != nil {
			return err
		}
		low = min(low, other)
		high = low + 2*width
	}
	return f.leave(p, recv)
}
