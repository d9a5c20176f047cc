package checkpoint

import "github.com/gorun-hpc/gorun/runtime"

// Part is memory that Save copies and Restore fills. Slice makes a Part.
type Part struct {
	b   []byte
	err error
}

// Slice returns a Part that is the memory of the slice s. T must be a type of less than 2 GiB without
// pointers. Otherwise Save and Restore return runtime.ErrElementType.
func Slice[T any](s []T) Part {
	if err := runtime.Element[T](); err != nil {
		return Part{err: err}
	}
	return Part{b: bytesOf(s)}
}
