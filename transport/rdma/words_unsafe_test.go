package rdma_test

import "unsafe"

// bytesOfWords returns the memory of words as bytes.
func bytesOfWords(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// addressOf returns the address of the first byte of b.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
