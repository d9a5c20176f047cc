//go:build amd64

package mpa

import "unsafe"

// ahead returns the number of bytes that precede the first boundary of a cache line in p. A load of
// 64 bytes that does not begin at such a boundary touches two cache lines.
func ahead(p []byte) int { return int(-uintptr(unsafe.Pointer(unsafe.SliceData(p))) & 63) }
