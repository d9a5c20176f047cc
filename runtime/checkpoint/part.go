package checkpoint

import "github.com/gorun-hpc/gorun/runtime"

// Part is memory that Save copies and Restore fills, made by Slice.
type Part struct {
	b   []byte
	err error
}

// Slice makes a part of a slice. Its elements are of a type without pointers, else Save and
// Restore return runtime.ErrElementType.
func Slice[T any](s []T) Part {
	if err := runtime.Element[T](); err != nil {
		return Part{err: err}
	}
	return Part{b: bytesOf(s)}
}
