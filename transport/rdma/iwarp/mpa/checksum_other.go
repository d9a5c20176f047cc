//go:build !amd64

package mpa

// folds says that there is nothing faster here than the standard library.
const folds = false

// foldLong is not called.
func foldLong(crc uint32, p []byte) (uint32, []byte) { return crc, p }
