package node

import "unsafe"

// wordAt returns the word at offset off of a part. off is a multiple of 8.
func wordAt(part []byte, off int) *Word {
	return (*Word)(unsafe.Pointer(&part[off : off+8][0]))
}

// addressOf returns the address of b in this process.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// uint64At returns the same word as wordAt, but the caller orders the loads and stores.
func uint64At(part []byte, off int) *uint64 {
	return (*uint64)(unsafe.Pointer(&part[off : off+8][0]))
}
