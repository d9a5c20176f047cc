package rdmacm

import (
	goruntime "runtime"
	"unsafe"
)

// pin writes the address of its second argument to its first argument, which is a part of a
// command. The memory stays pinned until release is called.
func pin(at, memory []byte) (release func()) {
	var p goruntime.Pinner
	first := unsafe.SliceData(memory)
	p.Pin(first)
	words(at).put64(0, uint64(uintptr(unsafe.Pointer(first))))
	return p.Unpin
}
