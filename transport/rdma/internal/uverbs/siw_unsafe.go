package uverbs

import "unsafe"

// siwInlineRoom returns the memory in which siw expects the bytes of an inline request. It is the
// memory of all segments after the first segment.
func siwInlineRoom(e *siwSend) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&e.segments[1])), siwMaxInline)
}
