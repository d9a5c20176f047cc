package ibverbs

import (
	"syscall"
	"unsafe"
)

// object calls a function that makes an object of C.
func object[T any](f function, a, b, c, d, e uintptr) (*T, error) {
	v, errno := call(f, a, b, c, d, e)
	if v == 0 {
		if errno == 0 {
			errno = syscall.EIO // the library failed and does not say why
		}
		return nil, errno
	}
	return pointer[T](&v), nil
}

// pointer is an address of C as a pointer.
func pointer[T any](v *uintptr) *T { return *(**T)(unsafe.Pointer(v)) }

// elementOf is the object of an event.
func elementOf[T any](e *event) *T { return *(**T)(unsafe.Pointer(&e.element)) }

// addressOf is where something of C's is, or something pinned of Go's.
func addressOf[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

// addressOfBytes is where memory begins.
func addressOfBytes(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// sizeOf is the size of a structure.
func sizeOf[T any]() uintptr {
	var v T
	return unsafe.Sizeof(v)
}

// textOf is a string of C.
func textOf(address uintptr) string {
	if address == 0 {
		return ""
	}
	first := pointer[byte](&address)
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(first), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(first, n))
}

// arrayOf is an array of C with n elements.
func arrayOf[T any](address uintptr, n int) []T { return unsafe.Slice(pointer[T](&address), n) }
