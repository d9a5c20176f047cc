//go:build amd64

package mpa

import "unsafe"

// ahead returns how many bytes precede the first boundary of a cache line in p. A load of 64 bytes
// that begins elsewhere touches two lines.
func ahead(p []byte) int { return int(-uintptr(unsafe.Pointer(unsafe.SliceData(p))) & 63) }
