package node

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/collectives/internal/message"
)

// ScatterPipeline copies the large block q of root's buffer send to member q's buffer recv, for all
// q. It copies in segments; each segment holds a piece of every other member's block. At root, recv
// may be the same memory as root's block of send.
//
// Restrictions: none. Cost: alpha + p n beta at root.
func (g *Group) ScatterPipeline(send, recv []byte, root int) error {
	f, err := g.flow()
	if err != nil {
		return err
	}
	size := len(recv)
	each, count := f.cut(size, 1, f.lane())
	first := f.claim(count, each*f.lanes())
	for i := range count {
		s := first + uint64(i)
		if g.rank == root {
			if err := f.putAll(send, message.Equal(size), i, each, s); err != nil {
				return err
			}
		} else {
			theirs, err := f.written(root, s)
			if err != nil {
				return err
			}
			copy(window(recv, i, each), theirs[f.laneIn(root, g.rank)*each:])
		}
		f.finish(s)
	}
	if g.rank == root {
		kernel.Copy(recv, send[root*size:][:size])
	}
	return nil
}

// lane returns the greatest length in bytes of a lane, the part of a segment for another member.
func (f *ring) lane() int { return laneOf(f.size, len(f.parts)) }

// lanes returns the number of lanes of a segment, one for each other member.
func (f *ring) lanes() int { return len(f.parts) - 1 }

// laneIn returns the number of the lane for a member (the argument to) in a segment of another
// member (the argument from).
func (f *ring) laneIn(from, to int) int {
	if to > from {
		return to - 1
	}
	return to
}

// putAll copies piece i (see window) of every other member's block to that member's lane of this member's segment
// s, and publishes the segment.
func (f *ring) putAll(send []byte, parts message.Parts, i, each int, s uint64) error {
	mine, err := f.acquire(s)
	if err != nil {
		return err
	}
	for q := range f.parts {
		if q != f.g.rank {
			copy(mine[f.laneIn(f.g.rank, q)*each:], window(parts.Of(send, q), i, each))
		}
	}
	f.publish(s)
	return nil
}
