package rdma

import (
	"sync/atomic"
	"unsafe"
)

// wordBytes is the size in bytes of the word to which FetchAdd adds.
const wordBytes = 8

// addWord atomically adds delta to the word in the 8 bytes at the start of b, and returns the old
// value of the word. If b is not aligned to 8 bytes, it does nothing and returns false.
func addWord(b []byte, delta uint64) (uint64, bool) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%wordBytes != 0 {
		return 0, false
	}
	return atomic.AddUint64((*uint64)(p), delta) - delta, true
}
