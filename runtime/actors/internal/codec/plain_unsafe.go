package codec

import "unsafe"

// bytesOf returns the memory of a value without pointers.
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// bytesOfString returns the memory of a string, which must not be written to.
func bytesOfString(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// face is the memory of a value of type any.
type face struct {
	typ  uintptr
	data unsafe.Pointer
}

// typeWord identifies the dynamic type of a message: it is the address of the type's description,
// which the runtime never moves. It is 0 for nil.
func typeWord(m any) uintptr { return (*face)(unsafe.Pointer(&m)).typ }

// bytesIn returns the memory of the value in m, or of the value that m points to, of size bytes and
// without pointers. It must not be written to. It is nil for a nil pointer. An interface stores
// values without pointers by address, so both cases are the same.
func bytesIn(m any, size int) []byte {
	data := (*face)(unsafe.Pointer(&m)).data
	if data == nil {
		return nil
	}
	return unsafe.Slice((*byte)(data), size)
}
