package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// ReduceScatterSegments combines large contributions, and stores part q of the result in member q's
// buffer recv. It works in segments. A member's segment has a piece of each part of the member's
// contribution, except of the part for the member itself. A member copies these pieces into its
// segment. Then it combines the pieces that all members have for it, in place. recv may be the same
// memory as this member's part of send.
//
// Restrictions: an element is no longer than a lane, see Limits.
// Cost: n/segment alpha + 2 n beta + n gamma for n bytes in all.
func (g *Group) ReduceScatterSegments(send, recv []byte, parts message.Parts, r message.Reduction) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	step := f.unit(r.Elem)
	if step > f.lane() {
		step = r.Elem
	}
	each, count := f.cut(parts.Longest(g.size), step, f.lane())
	first := f.claim(count, each*f.lanes())
	own := parts.Of(send, g.rank)
	same, _ := kernel.Overlap(own, recv)
	for i := range count {
		s := first + uint64(i)
		if err := f.putAll(send, parts, i, each, s); err != nil {
			return err
		}
		if err := f.writtenByAll(s); err != nil {
			return err
		}
		f.fold(window(recv, i, each), window(own, i, each), same, r, func(q int) []byte {
			return f.segment(q, s)[f.laneIn(q, g.rank)*each:]
		})
		f.finish(s)
	}
	return nil
}

// writtenByAll waits until segment s of every other member is written.
func (f *ring) writtenByAll(s uint64) error {
	for k := 1; k < len(f.parts); k++ {
		if _, err := f.written((f.g.rank+k)%len(f.parts), s); err != nil {
			return err
		}
	}
	return nil
}

// fold combines, into out, the operands of all members in the order of the ranks. The argument in is this
// member's own operand, and theirs returns memory that begins with the operand of another member. same is true
// if in and out are the same memory.
func (f *ring) fold(out, in []byte, same bool, r message.Reduction, theirs func(q int) []byte) {
	rank, stride := f.g.rank, max(chunk/r.Elem, 1)*r.Elem
	for from := 0; from < len(out); from += stride {
		to := min(from+stride, len(out))
		operand := func(q int) []byte {
			if q == rank {
				return in[from:to]
			}
			return theirs(q)[from:to]
		}
		acc := out[from:to]
		if same && rank > 1 { // the first combination would overwrite this member's operand
			acc = f.accumulator(to - from)
		}
		r.Fn(acc, operand(0), operand(1))
		for q := 2; q < len(f.parts); q++ {
			r.Fn(acc, acc, operand(q))
		}
		kernel.Copy(out[from:to], acc)
	}
}

// accumulator returns n bytes of private memory for a partial result.
func (f *ring) accumulator(n int) []byte {
	if cap(f.acc) < n {
		f.acc = make([]byte, n)
	}
	return f.acc[:n]
}
