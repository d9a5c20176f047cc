package transporttest

import (
	"sync/atomic"
	"unsafe"
)

// wordBytes is the size of the word that FetchAdd works on.
const wordBytes = 8

// addWord atomically adds delta to the word in the first 8 bytes of b, and returns the old value of
// the word. It returns false, and changes nothing, if b is not aligned to 8 bytes.
func addWord(b []byte, delta uint64) (uint64, bool) {
	p := unsafe.Pointer(unsafe.SliceData(b[:wordBytes]))
	if uintptr(p)%wordBytes != 0 {
		return 0, false
	}
	return atomic.AddUint64((*uint64)(p), delta) - delta, true
}

// alignedBytes returns n bytes that begin on an 8-byte boundary.
func alignedBytes(n int) []byte {
	words := make([]uint64, (n+wordBytes-1)/wordBytes)
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// within returns the offset of b in whole. It returns false if b is not a part of whole.
func within(whole, b []byte) (int, bool) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if at < start || at-start > uintptr(len(whole)) || uintptr(len(b)) > uintptr(len(whole))-(at-start) {
		return 0, false
	}
	return int(at - start), true
}
