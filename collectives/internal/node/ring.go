package node

// ring is the memory of the large operations. Each part has a number of places for segments (depth). The
// places are used in turn. The numbering of the segments continues from one operation to the next.
//
// The first line of a part holds two words, which the owner of the part writes:
//
//	offset 0  ready  the last segment that the owner has written
//	offset 8  done   2s when the owner has combined its share of segment s,
//	                 2s+1 when the owner has finished reading segment s
type ring struct {
	g           *Group
	mem         Memory
	depth, size int
	// room is the length of a place in bytes. span is the number of bytes that a segment of the
	// current operation uses. turns is the number of such segments that fit into a place.
	room, span, turns int
	ready, done       []*Word
	parts             [][]byte
	// first and last are the first and the last segment of the current operation. free is a lower bound
	// of the other members' done words.
	first, last, free uint64
	acc               []byte // see accumulator
}

// flow returns the ring. The first large operation makes it.
func (g *Group) flow() (*ring, error) {
	if g.large != nil {
		return g.large, nil
	}
	mem, err := g.openMore(g.plan.largePart())
	if err != nil {
		return nil, err
	}
	f := &ring{
		g: g, mem: mem, depth: g.plan.depth, size: g.plan.segment, room: g.plan.room,
		ready: make([]*Word, g.size), done: make([]*Word, g.size), parts: make([][]byte, g.size),
	}
	for q := range g.size {
		part := mem.Part(q)
		f.ready[q], f.done[q], f.parts[q] = wordAt(part, 0), wordAt(part, 8), part[line:]
	}
	if g.size*g.plan.largePart() <= faultInMax {
		f.populate()
	}
	g.large = f
	return f, nil
}

// populate faults in the pages of all parts, beginning with this member's part. Without populate, each
// member would take page faults in the first operations, whose segments use all of the parts.
func (f *ring) populate() {
	for k := range f.parts {
		q := (f.g.rank + k) % len(f.parts)
		f.g.faultIn(f.mem.Part(q), k == 0)
	}
}

// claim assigns the next segment numbers to the current operation, and returns the first of them.
// count is the number of segments, bytes the length of a segment.
func (f *ring) claim(count, bytes int) uint64 {
	f.span = min((bytes+line-1)&^(line-1), f.room)
	f.turns = f.room / max(f.span, 1)
	f.first = f.last + 1
	f.last += uint64(count)
	return f.first
}

// segment returns segment s of member q. A place may have room for several short segments. Successive
// segments in the same place use different memory of the place, in turn. The reason: a write to a cache
// line takes much longer if the other members still have the line in their caches.
func (f *ring) segment(q int, s uint64) []byte {
	round, place := s/uint64(f.depth), s%uint64(f.depth)
	return f.parts[q][int(place)*f.room+int(round%uint64(f.turns))*f.span:][:f.span]
}

// acquire waits until all members have finished with the previous segment in the place of this member's
// segment s, and returns the memory of segment s.
func (f *ring) acquire(s uint64) ([]byte, error) {
	mine := f.segment(f.g.rank, s)
	if s <= uint64(f.depth) {
		return mine, nil
	}
	need := 2*(s-uint64(f.depth)) + 1
	if f.free >= need {
		return mine, nil
	}
	free := ^uint64(0)
	for q, w := range f.done {
		if q == f.g.rank {
			continue
		}
		if err := f.await(w, need); err != nil {
			return nil, err
		}
		free = min(free, w.Load())
	}
	f.free = free
	return mine, nil
}

// publish signals that this member's segment s is written.
func (f *ring) publish(s uint64) { f.mem.Signal(f.ready[f.g.rank], s) }

// written waits until member q's segment s is written, and returns the segment. At the first
// segment of an operation it compares this member's call with the call of q.
func (f *ring) written(q int, s uint64) ([]byte, error) {
	if err := f.await(f.ready[q], s); err != nil {
		return nil, err
	}
	if s == f.first {
		if err := f.g.agree(q); err != nil {
			return nil, err
		}
	}
	return f.segment(q, s), nil
}

// combined signals that this member's share of segment s is combined.
func (f *ring) combined(s uint64) { f.mem.Signal(f.done[f.g.rank], 2*s) }

// finish signals that this member has finished reading segment s.
func (f *ring) finish(s uint64) { f.mem.Signal(f.done[f.g.rank], 2*s+1) }

func (f *ring) await(w *Word, v uint64) error { return f.g.awaitIn(f.mem, w, v) }

// stages is the number of segments into which an operation is cut if each member has a processor. If
// the segments would be shorter than segmentMin bytes, the operation is cut into fewer segments. If they
// would be longer than the limit (see cut), it is cut into more segments. While the first segment of an
// operation is written, and while the last one is read, no other segment is copied. With fewer segments,
// these two times are a larger part of the whole time.
const (
	stages     = 8
	segmentMin = 16 << 10
)

// cut divides n bytes into segments. It returns the length of a segment, which is a multiple of unit
// and at most limit, and the number of segments.
func (f *ring) cut(n, unit, limit int) (each, count int) {
	each = n
	if !f.g.crowded {
		each = max(n/stages, segmentMin)
	}
	each = min(max(each, 1), limit)
	each -= each % unit
	each = max(each, unit)
	return each, (n + each - 1) / each
}

// unit returns a length in bytes. Segments and blocks begin at multiples of this length. The length is a
// multiple of elem, the size of an element. It is also a multiple of a cache line, except if the common
// multiple would be longer than a segment or than about line*line bytes.
func (f *ring) unit(elem int) int {
	u := elem
	for u%line != 0 && u < line*line {
		u += elem
	}
	if u%line != 0 || u > f.size {
		return elem
	}
	return u
}

// window returns the bytes [i*each, (i+1)*each) of b. If b ends before (i+1)*each, the window is
// shorter, or empty.
func window(b []byte, i, each int) []byte {
	from := min(i*each, len(b))
	return b[from:min(from+each, len(b))]
}
