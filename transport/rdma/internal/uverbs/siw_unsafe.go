package uverbs

import "unsafe"

// siwInlineRoom is where siw expects the bytes of an inline request: all segments but the
// first.
func siwInlineRoom(e *siwSend) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&e.segments[1])), siwMaxInline)
}
