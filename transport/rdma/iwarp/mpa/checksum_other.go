//go:build !amd64

package mpa

// folds says that there is nothing faster here than the standard library.
const folds = false

// sums says the same of short pieces.
const sums = false

// sum is not called.
func sum(remainder uint32, _ *byte, _ int) uint32 { return remainder }

// foldLong is not called.
func foldLong(crc uint32, p []byte) (uint32, []byte) { return crc, p }
