package node

import "unsafe"

// wordAt returns the word at offset off of a part. off is a multiple of 8.
func wordAt(part []byte, off int) *Word {
	return (*Word)(unsafe.Pointer(&part[off : off+8][0]))
}

// addressOf returns the address of b in this process.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// uint64At is wordAt for a word whose loads and stores the caller orders.
func uint64At(part []byte, off int) *uint64 {
	return (*uint64)(unsafe.Pointer(&part[off : off+8][0]))
}
