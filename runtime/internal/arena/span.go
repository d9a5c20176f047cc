package arena

import "math/bits"

// temperature tells whether the pages of a free span are backed by memory. The temperature determines
// the cost of the first access to the pages.
type temperature uint8

const (
	// cold pages are not backed by memory, so their bytes are zeros. They were never
	// touched, or were discarded.
	cold temperature = iota
	// hot pages were touched and are still backed by memory.
	hot
)

// chunk is a part of the range that the transport has returned as one slice. A span
// never extends over two chunks.
type chunk struct {
	off int
	mem []byte
}

// span is a run of whole pages inside one chunk. The pages are free, one large lease, or a slab.
// Records are reused: a record that is not in the page table describes no pages.
type span struct {
	off, n int
	chunk  *chunk
	free   bool
	temp   temperature // if the span is free
	slab   *slab       // nil unless the span is a slab
	lease  lease       // if the span is one large lease

	prev, next   *span // of a free span: neighbours in its bin
	older, newer *span // of a free hot span: neighbours in the order of release
}

func (s *span) bytes(off, n int) []byte {
	at := off - s.chunk.off
	return s.chunk.mem[at : at+n : at+n]
}

// bins is the number of free lists of each temperature: bin b holds spans of
// 2^b up to 2^(b+1)-1 pages.
const bins = 48

// heap holds the free spans and the page table. The Arena's mutex guards it.
type heap struct {
	page   int // bytes
	pages  []*span
	bins   [2][bins]*span
	filled [2]uint64 // bit b: bin b is not empty
	// oldest and newest are the two ends of the list of free hot spans. hot is the sum of
	// their lengths in bytes.
	oldest, newest *span
	hot            int
	spare          *span // recycled records, linked by next
}

// at returns the span that contains off if off is on the first or last page of the span, or on any
// page of a slab. For any other page, at may return nil, because the page table may have no entry for it. The page
// table may also have a stale entry, whose record was reused for another span. So at checks that the span
// contains off.
func (h *heap) at(off int) *span {
	i := off / h.page
	if off < 0 || i >= len(h.pages) {
		return nil
	}
	s := h.pages[i]
	if s == nil || s.chunk == nil || off < s.off || off >= s.off+s.n {
		return nil
	}
	return s
}

// enter writes s into the page table: a slab at all its pages, any other span at its first and last
// page.
func (h *heap) enter(s *span) {
	first, last := s.off/h.page, (s.off+s.n)/h.page-1
	h.pages[first], h.pages[last] = s, s
	if s.slab != nil {
		for i := first + 1; i < last; i++ {
			h.pages[i] = s
		}
	}
}

// record returns an empty span record.
func (h *heap) record() *span {
	s := h.spare
	if s == nil {
		return new(span)
	}
	h.spare = s.next
	s.next = nil
	return s
}

func (h *heap) discardRecord(s *span) {
	*s = span{next: h.spare}
	h.spare = s
}

func (h *heap) bin(n int) int { return min(bits.Len(uint(n/h.page))-1, bins-1) }

// insert makes s a free span of temperature t, and merges it with the adjacent free spans
// of the same temperature.
func (h *heap) insert(s *span, t temperature) {
	s.free, s.temp = true, t
	if p := h.at(s.off - 1); joins(s, p) {
		h.unlink(p)
		s.off, s.n = p.off, p.n+s.n
		h.discardRecord(p)
	}
	if q := h.at(s.off + s.n); joins(s, q) {
		h.unlink(q)
		s.n += q.n
		h.discardRecord(q)
	}
	h.enter(s)
	h.link(s)
}

func joins(s, other *span) bool {
	return other != nil && other.free && other.temp == s.temp && other.chunk == s.chunk
}

func (h *heap) link(s *span) {
	b := h.bin(s.n)
	head := &h.bins[s.temp][b]
	s.prev, s.next = nil, *head
	if s.next != nil {
		s.next.prev = s
	}
	*head = s
	h.filled[s.temp] |= 1 << b
	if s.temp == hot {
		h.hot += s.n
		s.older, s.newer = h.newest, nil
		if h.newest != nil {
			h.newest.newer = s
		} else {
			h.oldest = s
		}
		h.newest = s
	}
}

func (h *heap) unlink(s *span) {
	b := h.bin(s.n)
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		h.bins[s.temp][b] = s.next
		if s.next == nil {
			h.filled[s.temp] &^= 1 << b
		}
	}
	if s.next != nil {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
	if s.temp == hot {
		h.hot -= s.n
		if s.older != nil {
			s.older.newer = s.newer
		} else {
			h.oldest = s.newer
		}
		if s.newer != nil {
			s.newer.older = s.older
		} else {
			h.newest = s.older
		}
		s.older, s.newer = nil, nil
	}
}

// take removes the best free span of temperature t with at least n bytes, cuts it to n bytes, and
// returns it. The rest of the span stays free. If there is no such span, take returns nil.
func (h *heap) take(n int, t temperature) *span {
	s := h.best(n, t)
	if s == nil {
		return nil
	}
	h.unlink(s)
	h.cut(s, n)
	s.free = false
	h.enter(s)
	return s
}

// cut shortens s, which is in no list, to n bytes. The rest becomes a free span
// of the same temperature.
func (h *heap) cut(s *span, n int) *span {
	if s.n > n {
		rest := h.record()
		rest.off, rest.n, rest.chunk = s.off+n, s.n-n, s.chunk
		rest.free, rest.temp = true, s.temp
		s.n = n
		h.enter(rest)
		h.link(rest)
	}
	return s
}

// best returns the smallest free span of temperature t with at least n bytes, or nil. Of
// equally long spans it returns the one that was freed last, whose pages are most likely
// to be in the processor's caches.
func (h *heap) best(n int, t temperature) *span {
	b := h.bin(n)
	var found *span
	for s := h.bins[t][b]; s != nil; s = s.next {
		if s.n >= n && (found == nil || s.n < found.n) {
			found = s
		}
	}
	if found != nil {
		return found
	}
	higher := h.filled[t] &^ (1<<(b+1) - 1)
	if higher == 0 {
		return nil
	}
	for s := h.bins[t][bits.TrailingZeros64(higher)]; s != nil; s = s.next {
		if found == nil || s.n < found.n {
			found = s
		}
	}
	return found
}

// gather makes a span of n bytes from adjacent free spans, which may have different temperatures. Of several such
// runs of spans it uses the run with the most hot bytes. It returns nil if there is no such run, or if every such
// run has fewer hot bytes than the argument least. Pages that are not needed stay free: cold ones at the beginning
// of the run, otherwise those at its end.
func (h *heap) gather(chunks []*chunk, n, least int) *span {
	start, warmest, excess := -1, least-1, 0
	for _, c := range chunks {
		run, total, warm := c.off, 0, 0
		for off := c.off; off < c.off+len(c.mem); {
			s := h.at(off)
			off = s.off + s.n
			if !s.free {
				run, total, warm = off, 0, 0
				continue
			}
			total += s.n
			if s.temp == hot {
				warm += s.n
			}
			for total >= n {
				first, over, gets := h.at(run), total-n, warm
				if first.temp == hot && s.temp == hot {
					gets -= over // the end of the run is cut off
				}
				if gets > warmest && (first.temp == hot || over < first.n) {
					start, warmest, excess = run, gets, over
				}
				if over < first.n {
					break
				}
				run, total = run+first.n, total-first.n
				if first.temp == hot {
					warm -= first.n
				}
			}
		}
	}
	if start < 0 {
		return nil
	}
	s := h.at(start)
	h.unlink(s)
	if s.temp == cold && excess > 0 { // the cold pages at the beginning stay free, not the pages at the end of the run
		h.enter(h.cut(s, excess))
		h.link(s)
		s = h.at(start + excess)
		h.unlink(s)
	}
	for s.n < n {
		next := h.at(s.off + s.n)
		h.unlink(next)
		next = h.cut(next, min(n-s.n, next.n))
		s.n += next.n
		h.discardRecord(next)
	}
	s.free = false
	h.enter(s)
	return s
}
