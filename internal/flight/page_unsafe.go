package flight

import "unsafe"

// Compile-time checks of the table in the package comment.
var (
	_ [Bytes]byte = [unsafe.Sizeof(page{})]byte{}
	_ [512]byte   = [unsafe.Offsetof(page{}.messages)]byte{}
	_ [8704]byte  = [unsafe.Offsetof(page{}.operations)]byte{}
	_ [16896]byte = [unsafe.Offsetof(page{}.texts)]byte{}
)

// pageOf returns the memory of a Recorder as a page, or nil if the memory is too short or not aligned.
func pageOf(memory []byte) *page {
	start := unsafe.Pointer(unsafe.SliceData(memory))
	if len(memory) < Bytes || uintptr(start)%unsafe.Alignof(page{}) != 0 {
		return nil
	}
	return (*page)(start)
}
