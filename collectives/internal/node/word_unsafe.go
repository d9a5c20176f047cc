package node

import "unsafe"

// wordAt returns the word at off, a multiple of 8, of a part.
func wordAt(part []byte, off int) *Word {
	return (*Word)(unsafe.Pointer(&part[off : off+8][0]))
}
