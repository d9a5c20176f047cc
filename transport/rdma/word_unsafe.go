package rdma

import (
	"sync/atomic"
	"unsafe"
)

// wordBytes is the size of what FetchAdd adds to.
const wordBytes = 8

// addWord adds to the word at the start of b, which has 8 bytes, and returns its
// old value. It returns false, having done nothing, when b is not aligned.
func addWord(b []byte, delta uint64) (uint64, bool) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%wordBytes != 0 {
		return 0, false
	}
	return atomic.AddUint64((*uint64)(p), delta) - delta, true
}
