package runtime

import (
	"reflect"
	"unsafe"
)

// elementRecentSize is the number of slots of elementRecent, a power of two. Programs use few
// types, so collisions are rare.
const elementRecentSize = 256

// elementOf returns the element of T. It looks T up in elementRecent. The address of T's type
// descriptor, which is constant data of the program, determines the slot in elementRecent. Only the
// first use of a type, or a collision of two types, takes the slow path through reflect.
func elementOf[T any]() *element {
	word := typeWord((*T)(nil))
	if e := elementRecent[word>>5%elementRecentSize].Load(); e != nil && e.word == word {
		return e
	}
	return elementSlow[T]()
}

// elementSlow finds or makes the element of T and stores it in its slot.
//
//go:noinline
func elementSlow[T any]() *element {
	word := typeWord((*T)(nil))
	e := makeElement(reflect.TypeFor[T](), word)
	elementRecent[word>>5%elementRecentSize].Store(e)
	return e
}

// typeWord returns the address of the type descriptor of v's dynamic type: the
// first word of an interface value.
func typeWord(v any) uintptr { return *(*uintptr)(unsafe.Pointer(&v)) }

// bytesOf returns the memory of buf as bytes. The result keeps buf alive.
func bytesOf[T any](buf []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(buf))), len(buf)*int(unsafe.Sizeof(*new(T))))
}

// viewOf returns the first n elements of type T in b. b must be aligned for T. If T contains
// pointers, the caller must not use the result.
func viewOf[T any](b []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// alignment returns the alignment of T in bytes, and by how many bytes the beginning of b misses a multiple of it. For
// an empty b it misses none.
func alignment[T any](b []byte) (align, over uintptr) {
	align = unsafe.Alignof(*new(T))
	if len(b) == 0 {
		return align, 0
	}
	return align, uintptr(unsafe.Pointer(unsafe.SliceData(b))) % align
}

// overlap reports whether two slices share memory.
func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	p, q := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return p < q+uintptr(len(b)) && q < p+uintptr(len(a))
}

// byteElement is the element of type byte.
var byteElement = elementOf[byte]()
