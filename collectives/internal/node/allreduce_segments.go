package node

import "github.com/gorun-hpc/gorun/collectives/internal/message"

// AllReduceSegments combines large contributions by a reduce-scatter and an allgather through shared
// memory, in segments. A segment has a block for each member; each member combines its own block. A
// member copies all blocks of its contribution, except its own block, into its part of the shared
// memory. Then it combines the contributions of all members to its own block in place, and copies
// out the blocks that the other members have combined. It copies the next segment into its part
// before it waits for the blocks of the other members. recv may be the same memory as send.
//
// Restrictions: an element is no longer than a segment.
// Cost: 2 n/segment alpha + 3 n beta + n gamma.
func (g *Group) AllReduceSegments(send, recv []byte, r message.Reduction) error {
	return g.reduceSegments(send, recv, everyone, r)
}

// ReduceSegments is AllReduceSegments with the result at root alone: only root copies the blocks out.
func (g *Group) ReduceSegments(send, recv []byte, root int, r message.Reduction) error {
	return g.reduceSegments(send, recv, root, r)
}

// everyone is passed as root if all members get the result.
const everyone = -1

func (g *Group) reduceSegments(send, recv []byte, root int, r message.Reduction) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	step := f.unit(r.Elem)
	each, count := f.cut(len(send), step, f.size)
	if count == 0 {
		return nil
	}
	first := f.claim(count, each)
	if err := f.copyIn(window(send, 0, each), first, step); err != nil {
		return err
	}
	for i := range count {
		s := first + uint64(i)
		var out []byte
		if root == everyone || root == g.rank {
			out = window(recv, i, each)
		}
		if err := f.combine(window(send, i, each), out, s, step, r); err != nil {
			return err
		}
		f.combined(s)
		if i+1 < count {
			if err := f.copyIn(window(send, i+1, each), s+1, step); err != nil {
				return err
			}
		}
		if out != nil {
			if err := f.copyOut(out, s, step); err != nil {
				return err
			}
		}
		f.finish(s)
	}
	return nil
}

// blockOf returns the length of the blocks into which a segment of n bytes is divided among the
// members. It is a multiple of step.
func (f *ring) blockOf(n, step int) int {
	each := (n + f.g.size - 1) / f.g.size
	return (each + step - 1) / step * step
}

// copyIn writes and publishes this member's segment s, except for this member's own block.
func (f *ring) copyIn(send []byte, s uint64, step int) error {
	mine, err := f.acquire(s)
	if err != nil {
		return err
	}
	block := f.blockOf(len(send), step)
	from := min(f.g.rank*block, len(send))
	to := min(from+block, len(send))
	copy(mine, send[:from])
	copy(mine[to:], send[to:])
	f.publish(s)
	return nil
}

// chunk is the largest number of bytes that are combined at a time, except that at least step bytes
// are. It is so small that the partial result stays in the first-level cache.
const chunk = 8 << 10

// combine combines the contributions of all members to this member's block of segment s, in this
// member's part. If out is not nil, combine also copies the result to out.
func (f *ring) combine(send, out []byte, s uint64, step int, r message.Reduction) error {
	rank := f.g.rank
	for q := range f.parts {
		if q == rank {
			continue
		}
		if _, err := f.written(q, s); err != nil {
			return err
		}
	}
	block := f.blockOf(len(send), step)
	end := min((rank+1)*block, len(send))
	stride := max(chunk/step, 1) * step
	for from := rank * block; from < end; from += stride {
		to := min(from+stride, end)
		acc := f.segment(rank, s)[from:to]
		r.Fn(acc, f.operand(0, send, s, from, to), f.operand(1, send, s, from, to))
		for q := 2; q < len(f.parts); q++ {
			r.Fn(acc, acc, f.operand(q, send, s, from, to))
		}
		if out != nil {
			copy(out[from:to], acc)
		}
	}
	return nil
}

// operand returns the bytes [from, to) of member q's contribution to segment s.
func (f *ring) operand(q int, send []byte, s uint64, from, to int) []byte {
	if q == f.g.rank {
		return send[from:to]
	}
	return f.segment(q, s)[from:to]
}

// copyOut copies to out the blocks of segment s that the other members combine. It waits until each
// block is combined.
func (f *ring) copyOut(out []byte, s uint64, step int) error {
	block := f.blockOf(len(out), step)
	for k := 1; k < len(f.parts); k++ {
		q := (f.g.rank + k) % len(f.parts)
		if err := f.await(f.done[q], 2*s); err != nil {
			return err
		}
		dst := window(out, q, block)
		copy(dst, f.segment(q, s)[min(q*block, len(out)):])
	}
	return nil
}
