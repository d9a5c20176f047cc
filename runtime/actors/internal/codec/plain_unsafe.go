package codec

import "unsafe"

// bytesOf returns the memory of a value without pointers.
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// bytesOfString returns the memory of a string. The caller must not write to it.
func bytesOfString(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// face is the memory layout of a value of type any.
type face struct {
	typ  uintptr
	data unsafe.Pointer
}

// typeWord returns a word that identifies the dynamic type of a message; 0 for nil. The word is the address
// of the type's descriptor, which Go's runtime never moves.
func typeWord(m any) uintptr { return (*face)(unsafe.Pointer(&m)).typ }

// bytesIn returns the memory of the value in m or, if m is a pointer, of the value that m points to.
// The value has size bytes and contains no pointers. The code is the same in both cases, because an
// interface stores values without pointers by address. The caller must not write to the memory. If m
// is a nil pointer, the result is nil.
func bytesIn(m any, size int) []byte {
	data := (*face)(unsafe.Pointer(&m)).data
	if data == nil {
		return nil
	}
	return unsafe.Slice((*byte)(data), size)
}
