package value

import (
	"reflect"
	"unsafe"
)

// memory returns the memory of a value, which has no pointers.
func memory[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// elements returns the memory of the elements of a slice. They are of size bytes and have no pointers.
func elements[T any](v *T, size int) []byte {
	s := reflect.ValueOf(v).Elem()
	return unsafe.Slice((*byte)(s.UnsafePointer()), s.Len()*size)
}
