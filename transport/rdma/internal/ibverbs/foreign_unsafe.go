package ibverbs

import (
	"syscall"
	"unsafe"
)

// object calls a C function that makes an object, and returns a pointer to the object.
func object[T any](f function, a, b, c, d, e uintptr) (*T, error) {
	v, errno := call(f, a, b, c, d, e)
	if v == 0 {
		if errno == 0 {
			errno = syscall.EIO // the library failed and set no errno
		}
		return nil, errno
	}
	return pointer[T](&v), nil
}

// pointer converts an address in C's memory to a pointer.
func pointer[T any](v *uintptr) *T { return *(**T)(unsafe.Pointer(v)) }

// pairOf returns the queue pair to which an event belongs.
func pairOf(e *event) *pairObject { return *(**pairObject)(unsafe.Pointer(&e.element)) }

// addressOf returns the address of an object in C's memory, or of a pinned object in Go's memory.
func addressOf[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

// addressOfBytes returns the address of the first byte of b.
func addressOfBytes(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// sizeOf returns the size of a structure in bytes.
func sizeOf[T any]() uintptr {
	var v T
	return unsafe.Sizeof(v)
}

// textOf returns a copy of the C string at an address. It returns "" if the address is 0.
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

// arrayOf returns the C array of n elements at an address, without a copy.
func arrayOf[T any](address uintptr, n int) []T { return unsafe.Slice(pointer[T](&address), n) }
