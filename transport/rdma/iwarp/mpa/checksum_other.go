//go:build !amd64

package mpa

// folds is false, because folding is implemented only for amd64.
const folds = false

// sums is false, because sum is implemented only for amd64.
const sums = false

// sum is never called, because sums is false.
func sum(remainder uint32, _ *byte, _ int) uint32 { return remainder }

// foldLong is never called, because folds is false.
func foldLong(crc uint32, p []byte) (uint32, []byte) { return crc, p }
