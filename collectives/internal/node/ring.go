package node

import "os"

// ring is the memory of the large operations: in each part, places for depth segments that
// are used in turn. Segments are numbered through all operations.
//
// The first line of a part holds two words of its owner:
//
//	offset 0  ready  the last segment it has written
//	offset 8  done   2s when its share of segment s is combined,
//	                 2s+1 when it does not look at segment s any more
type ring struct {
	g           *Group
	mem         Memory
	depth, size int
	// room is how many bytes a part has for the segments that have a place in turn, span how many of
	// them a segment of the current operation uses, and turns how many such there are.
	room, span, turns int
	ready, done       []*Word
	parts             [][]byte
	// first and last are the numbers of the current operation's segments, free is
	// a lower bound of everyone's done word.
	first, last, free uint64
	acc               []byte // see accumulator
}

// flow returns the ring, which is made with the first large operation.
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
	if f.room > f.size {
		f.populate()
	}
	g.large = f
	return f, nil
}

// populate makes the kernel give this member's part its pages, before any other member reads it: segments
// that go through all of the part would take a page fault for each page of the first operations.
func (f *ring) populate() {
	mine := f.parts[f.g.rank]
	for at := 0; at < len(mine); at += os.Getpagesize() {
		mine[at] = 0
	}
}

// claim takes the next count segment numbers, for segments of bytes bytes each, and returns the first number.
func (f *ring) claim(count, bytes int) uint64 {
	f.span = min((bytes+line-1)&^(line-1), f.room)
	f.turns = f.room / max(f.span, 1)
	f.first = f.last + 1
	f.last += uint64(count)
	return f.first
}

// segment returns segment s of member q. Short segments use all of the room of their place, one after the
// other: a line that the others have in their caches from the last time costs its writer much more
// time than one that has left them.
func (f *ring) segment(q int, s uint64) []byte {
	round, place := s/uint64(f.depth), s%uint64(f.depth)
	return f.parts[q][int(place)*f.room+int(round%uint64(f.turns))*f.span:][:f.span]
}

// acquire waits until all members have finished with the previous contents of this member's
// segment s, and returns it.
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

// publish announces that this member's segment s is written.
func (f *ring) publish(s uint64) { f.mem.Signal(f.ready[f.g.rank], s) }

// written waits until member q's segment s is written and returns it.
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

// combined announces that this member's share of segment s is combined.
func (f *ring) combined(s uint64) { f.mem.Signal(f.done[f.g.rank], 2*s) }

// finish announces that this member does not read segment s any more.
func (f *ring) finish(s uint64) { f.mem.Signal(f.done[f.g.rank], 2*s+1) }

func (f *ring) await(w *Word, v uint64) error { return f.g.awaitIn(f.mem, w, v) }

// stages is the number of segments into which an operation is cut if it is long enough: the
// first and the last of them do not overlap with others.
const (
	stages     = 8
	segmentMin = 16 << 10
)

// cut returns the length of the segments of an operation on n bytes, a multiple
// of unit and at most limit, and their number.
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

// unit returns a multiple of an element's size at which segments and blocks may
// begin: whole cache lines where that is not too coarse.
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

// window returns bytes [i*each, (i+1)*each) of b, as far as it goes.
func window(b []byte, i, each int) []byte {
	from := min(i*each, len(b))
	return b[from:min(from+each, len(b))]
}
