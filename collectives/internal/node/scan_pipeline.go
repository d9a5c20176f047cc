package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// ScanPipeline combines large contributions of the members up to this one, in segments: every
// member reads what the one before it has combined in place, adds its own, and writes that for
// the next one. recv may be send.
//
// Restrictions: an element is no longer than a segment.
// Cost: (n/segment + p - 2) (alpha + segment (2 beta + gamma)).
func (g *Group) ScanPipeline(send, recv []byte, r message.Reduction) error {
	return g.scan(send, recv, r, (*ring).scanSegment)
}

// ExScanPipeline is ScanPipeline of the members before this one. recv of member 0 stays as it is.
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

// scanSegment does segment s, of which this member contributes in and keeps out.
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

// exScanSegment is scanSegment without this member's contribution in out.
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

// linkBefore returns the n bytes of segment s of the member before this one, when they are
// written, and those of this member, when the next one has finished with what was there: nil
// where there is no such member.
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

// acquireFor is acquire in an operation in which member q alone reads this member's segments.
func (f *ring) acquireFor(q int, s uint64) ([]byte, error) {
	if s < f.first+uint64(f.depth) {
		return f.acquire(s)
	}
	if err := f.await(f.done[q], 2*(s-uint64(f.depth))+1); err != nil {
		return nil, err
	}
	return f.segment(f.g.rank, s), nil
}
