package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// ScanPipeline combines the large contributions of member 0 up to this member, in segments. A member
// reads, in place, the combination that the previous member has written. It combines this combination
// with its own contribution, and writes the result for the next member. recv may be the same memory as
// send.
//
// Restrictions: an element is no longer than a segment.
// Cost: (n/segment + p - 2) (alpha + segment (2 beta + gamma)).
func (g *Group) ScanPipeline(send, recv []byte, r message.Reduction) error {
	return g.scan(send, recv, r, (*ring).scanSegment)
}

// ExScanPipeline combines like ScanPipeline, but only the contributions of the members with lower
// ranks. Member 0's buffer recv stays unchanged.
func (g *Group) ExScanPipeline(send, recv []byte, r message.Reduction) error {
	return g.scan(send, recv, r, (*ring).exScanSegment)
}

func (g *Group) scan(send, recv []byte, r message.Reduction, do func(f *ring, in, out []byte, s uint64, r message.Reduction) error) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	each, count := f.cut(len(send), f.unit(r.Elem), f.size)
	first := f.claim(count, each)
	for i := range count {
		s := first + uint64(i)
		if err := do(f, window(send, i, each), window(recv, i, each), s, r); err != nil {
			return err
		}
		f.finish(s)
	}
	return nil
}

// scanSegment executes segment s of ScanPipeline. The argument in is this member's contribution to the segment.
// out receives the result.
func (f *ring) scanSegment(in, out []byte, s uint64, r message.Reduction) error {
	before, mine, err := f.linkBefore(len(in), s)
	switch {
	case err != nil:
		return err
	case before == nil:
		copy(mine, in)
		f.publish(s)
		kernel.Copy(out, in)
	case mine == nil:
		r.Fn(out, before, in)
	default:
		r.Fn(mine, before, in)
		f.publish(s)
		copy(out, mine)
	}
	return nil
}

// exScanSegment executes segment s of ExScanPipeline: the result in out does not contain this member's
// contribution.
func (f *ring) exScanSegment(in, out []byte, s uint64, r message.Reduction) error {
	before, mine, err := f.linkBefore(len(in), s)
	if err != nil {
		return err
	}
	if before == nil {
		copy(mine, in)
		f.publish(s)
		return nil
	}
	if mine != nil {
		r.Fn(mine, before, in)
		f.publish(s)
	}
	copy(out, before)
	return nil
}

// linkBefore returns two slices of n bytes for segment s, before and mine. before is in the part of the
// previous member; linkBefore waits until that member has written it. mine is in this member's part;
// linkBefore waits until no other member needs the previous contents of mine (see acquireFor). linkBefore
// returns nil in place of before at the first member, and nil in place of mine at the last member.
func (f *ring) linkBefore(n int, s uint64) (before, mine []byte, err error) {
	rank := f.g.rank
	if rank > 0 {
		if before, err = f.written(rank-1, s); err != nil {
			return nil, nil, err
		}
		before = before[:n]
	}
	if rank+1 < f.g.size {
		if mine, err = f.acquireFor(rank+1, s); err != nil {
			return nil, nil, err
		}
		mine = mine[:n]
	}
	return before, mine, nil
}

// acquireFor replaces acquire in an operation in which only member q reads this member's segments. If a
// segment of an earlier operation was in the same place, acquireFor waits for all members. Otherwise it
// waits only for q.
func (f *ring) acquireFor(q int, s uint64) ([]byte, error) {
	if s < f.first+uint64(f.depth) {
		return f.acquire(s)
	}
	if err := f.await(f.done[q], 2*(s-uint64(f.depth))+1); err != nil {
		return nil, err
	}
	return f.segment(f.g.rank, s), nil
}
