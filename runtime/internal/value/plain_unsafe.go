package value

import (
	"reflect"
	"unsafe"
)

// memory returns the memory of a value as bytes. T has no pointers.
func memory[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// elements returns the memory of the elements of the slice that v points to. An element has size
// bytes and no pointers.
func elements[T any](v *T, size int) []byte {
	s := reflect.ValueOf(v).Elem()
	return unsafe.Slice((*byte)(s.UnsafePointer()), s.Len()*size)
}
