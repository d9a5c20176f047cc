package engine

import "math/bits"

// The classes of memory blocks for unexpected messages and queued frames. The sizes of blocks are the powers of two
// from 64 bytes to 64 KiB, and one and a half times each of these powers except the last. So for a
// message of 64 bytes or more, rounding up adds less than half of its length. Go's allocator has
// these sizes, too.
const (
	minClass = 2 * 6
	maxClass = 2 * 16
	// maxSpare bounds the unused blocks that are kept, in bytes. maxSpareRecords is the largest
	// number of unused message records that are kept, and also that of unused frames.
	maxSpare        = 4 << 20
	maxSpareRecords = 8 << 10
)

// classOf returns the class of the smallest block that holds n bytes. The blocks of class 2*k have
// 1<<k bytes. The blocks of class 2*k-1 have three quarters of 1<<k bytes.
func classOf(n int) int {
	k := bits.Len(uint(n - 1))
	if n <= 3<<k>>2 {
		return max(2*k-1, minClass)
	}
	return max(2*k, minClass)
}

// sizeOf returns the size in bytes of the blocks of a class.
func sizeOf(class int) int {
	if class%2 == 0 {
		return 1 << (class / 2)
	}
	return 3 << (class / 2) >> 1
}

// spareMemory keeps unused memory of unexpected messages and of queued frames for later ones: blocks by class, and
// records of messages and of frames.
type spareMemory struct {
	classes  [maxClass + 1][][]byte
	bytes    int // total size of the blocks in classes
	messages records[message]
	frames   records[frame]
}

// records keeps up to maxSpareRecords unused records of one kind.
type records[T any] []*T

// get returns a zero record.
func (s *records[T]) get() *T {
	last := len(*s) - 1
	if last < 0 {
		return new(T)
	}
	r := (*s)[last]
	(*s)[last], *s = nil, (*s)[:last]
	return r
}

// put frees a record.
func (s *records[T]) put(r *T) {
	var zero T
	if *r = zero; len(*s) < maxSpareRecords {
		*s = append(*s, r)
	}
}

// get returns n bytes with undefined contents.
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

// copyOf returns a copy of b.
func (s *spareMemory) copyOf(b []byte) []byte { return append(s.get(len(b))[:0], b...) }

// put keeps the block b for later messages, if its capacity is the size of a class and maxSpare is
// not exceeded.
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
