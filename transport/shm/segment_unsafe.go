package shm

import "unsafe"

// segment is a piece of node memory, accessible as bytes and as words. Words that peers share
// are accessed atomically. The bytes of a record are accessed without atomics, because the word
// that publishes the record orders the accesses.
type segment struct {
	bytes []byte
	words []uint64
}

// segmentOf returns the segment with the memory of b, which must be 8-byte aligned.
func segmentOf(b []byte) segment {
	if len(b) == 0 {
		return segment{}
	}
	return segment{b, unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)}
}

// heapSegment allocates n bytes on the heap, aligned to cache lines.
func heapSegment(n int) segment {
	w := make([]uint64, (n+lineBytes)/8)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(w))) & (lineBytes - 1) / 8
	w = w[skip : int(skip)+n/8]
	return segment{unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), n), w}
}

// at returns the n bytes at off.
func (s segment) at(off, n int) segment {
	return segment{s.bytes[off : off+n : off+n], s.words[off/8 : (off+n)/8 : (off+n)/8]}
}

// word returns the word at off.
func (s segment) word(off int) *uint64 { return &s.words[off/8] }

// word32 returns the 32-bit word at off.
func (s segment) word32(off int) *uint32 { return (*uint32)(unsafe.Pointer(&s.bytes[off])) }

// addressOf returns the address of the first byte of b.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// wordOf returns the word at the start of b, or nil if b is short or not aligned.
func wordOf(b []byte) *uint64 {
	if len(b) < 8 || addressOf(b)%8 != 0 {
		return nil
	}
	return (*uint64)(unsafe.Pointer(unsafe.SliceData(b)))
}

// addressOfWords returns the address of the first word of w.
func addressOfWords(w []uint64) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(w)))) }
