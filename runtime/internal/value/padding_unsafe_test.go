package value_test

import "unsafe"

// fillPadding sets the padding of p to values other than zero.
func fillPadding(p *padded) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
	for i := 9; i < 12; i++ {
		b[i] = 0xff
	}
}
