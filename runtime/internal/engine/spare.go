package engine

import "math/bits"

// Sizes of the memory for unexpected messages: powers of two and one and a half times these,
// from 64 bytes to 64 KiB. So rounding adds less than half of a message's length. They are
// also sizes of Go's allocator.
const (
	minClass = 2 * 6
	maxClass = 2 * 16
	// maxSpare and maxSpareRecords bound the unused memory that is kept: bytes of messages,
	// and records of messages.
	maxSpare        = 4 << 20
	maxSpareRecords = 8 << 10
)

// classOf returns the class of the smallest size that holds n bytes: 2*k for 1<<k
// bytes, 2*k-1 for three quarters of that.
func classOf(n int) int {
	k := bits.Len(uint(n - 1))
	if n <= 3<<k>>2 {
		return max(2*k-1, minClass)
	}
	return max(2*k, minClass)
}

// sizeOf returns the size of a class.
func sizeOf(class int) int {
	if class%2 == 0 {
		return 1 << (class / 2)
	}
	return 3 << (class / 2) >> 1
}

// spareMemory keeps the memory of unexpected messages for the next ones.
type spareMemory struct {
	classes [maxClass + 1][][]byte
	bytes   int      // kept in classes
	records *message // free list
	kept    int      // in records
}

// get returns n bytes with any contents.
func (s *spareMemory) get(n int) []byte {
	if n == 0 {
		return nil
	}
	class := classOf(n)
	if class > maxClass {
		return make([]byte, n)
	}
	c := &s.classes[class]
	if last := len(*c) - 1; last >= 0 {
		b := (*c)[last]
		(*c)[last], *c = nil, (*c)[:last]
		s.bytes -= cap(b)
		return b[:n]
	}
	return make([]byte, n, sizeOf(class))
}

// put keeps b if it is of a kept size and there is room.
func (s *spareMemory) put(b []byte) {
	n := cap(b)
	if n == 0 || s.bytes+n > maxSpare {
		return
	}
	class := classOf(n)
	if class > maxClass || sizeOf(class) != n {
		return
	}
	c := &s.classes[class]
	*c = append(*c, b[:0])
	s.bytes += n
}

// record returns a record of a message, all zero.
func (s *spareMemory) record() *message {
	g := s.records
	if g == nil {
		return new(message)
	}
	s.records, g.free = g.free, nil
	s.kept--
	return g
}

// drop frees a record. It is kept for a later message unless there are many.
func (s *spareMemory) drop(g *message) {
	*g = message{}
	if s.kept < maxSpareRecords {
		g.free, s.records = s.records, g
		s.kept++
	}
}
