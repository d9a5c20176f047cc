package row

// Columns gathers octets from eight rows of src, which are stride numbers apart. Octet p contains number p of
// each row, in the order of the rows. dst has room for n octets. The vector loop is used only if n is a
// multiple of 4.
func Columns(dst []float64, src []complex128, stride int) {
	n := len(dst) / Octet
	if n == 0 {
		return
	}
	_ = src[:(block-1)*stride+n]
	if wide && n%4 == 0 {
		columns8(&dst[0], &src[0], 16*stride, n/4)
		return
	}
	columns(dst, src, stride)
}

// columns is the portable loop of Columns.
func columns(dst []float64, src []complex128, stride int) {
	n := len(dst) / Octet
	for q := range block {
		for p, v := range src[q*stride:][:n] {
			dst[p*Octet+q], dst[p*Octet+q+block] = real(v), imag(v)
		}
	}
}

// Rows is the inverse of [Columns].
func Rows(dst []complex128, src []float64, stride int) {
	n := len(src) / Octet
	if n == 0 {
		return
	}
	_ = dst[:(block-1)*stride+n]
	if wide && n%4 == 0 {
		rows8(&dst[0], &src[0], 16*stride, n/4)
		return
	}
	rows(dst, src, stride)
}

// rows is the portable loop of Rows.
func rows(dst []complex128, src []float64, stride int) {
	n := len(src) / Octet
	for q := range block {
		row := dst[q*stride:][:n]
		for p := range row {
			row[p] = complex(src[p*Octet+q], src[p*Octet+q+block])
		}
	}
}
