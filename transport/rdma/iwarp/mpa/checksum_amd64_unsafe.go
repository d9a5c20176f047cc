//go:build amd64

package mpa

import "unsafe"

// ahead returns how many bytes lie before p's first whole line of the cache: loads of
// a line each that begin elsewhere touch two.
func ahead(p []byte) int { return int(-uintptr(unsafe.Pointer(unsafe.SliceData(p))) & 63) }
