package kernel

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type real interface{ integer | float32 | float64 }

type number interface{ real | complex64 | complex128 }

// operands returns three byte slices as slices of elements. It cuts a and b to the length of dst, so
// that the compiler omits the bounds checks in the loops.
func operands[T any](dst, a, b []byte) (d, x, y []T) {
	d = View[T](dst)
	return d, View[T](a)[:len(d)], View[T](b)[:len(d)]
}

func sum[T number](dst, a, b []byte) {
	d, x, y := operands[T](dst, a, b)
	for i := range d {
		d[i] = x[i] + y[i]
	}
}

func prod[T number](dst, a, b []byte) {
	d, x, y := operands[T](dst, a, b)
	for i := range d {
		d[i] = x[i] * y[i]
	}
}

func lesser[T real](dst, a, b []byte) {
	d, x, y := operands[T](dst, a, b)
	for i := range d {
		d[i] = min(x[i], y[i])
	}
}

func greater[T real](dst, a, b []byte) {
	d, x, y := operands[T](dst, a, b)
	for i := range d {
		d[i] = max(x[i], y[i])
	}
}

func band[T integer](dst, a, b []byte) {
	d, x, y := operands[T](dst, a, b)
	for i := range d {
		d[i] = x[i] & y[i]
	}
}

func bor[T integer](dst, a, b []byte) {
	d, x, y := operands[T](dst, a, b)
	for i := range d {
		d[i] = x[i] | y[i]
	}
}

func bxor[T integer](dst, a, b []byte) {
	d, x, y := operands[T](dst, a, b)
	for i := range d {
		d[i] = x[i] ^ y[i]
	}
}

// truth returns 1 for true and 0 for false.
func truth[T integer](b bool) T {
	if b {
		return 1
	}
	return 0
}

func land[T integer](dst, a, b []byte) {
	d, x, y := operands[T](dst, a, b)
	for i := range d {
		d[i] = truth[T](x[i] != 0 && y[i] != 0)
	}
}

func lor[T integer](dst, a, b []byte) {
	d, x, y := operands[T](dst, a, b)
	for i := range d {
		d[i] = truth[T](x[i] != 0 || y[i] != 0)
	}
}

func lxor[T integer](dst, a, b []byte) {
	d, x, y := operands[T](dst, a, b)
	for i := range d {
		d[i] = truth[T]((x[i] != 0) != (y[i] != 0))
	}
}

func landBool(dst, a, b []byte) {
	d, x, y := operands[bool](dst, a, b)
	for i := range d {
		d[i] = x[i] && y[i]
	}
}

func lorBool(dst, a, b []byte) {
	d, x, y := operands[bool](dst, a, b)
	for i := range d {
		d[i] = x[i] || y[i]
	}
}

func lxorBool(dst, a, b []byte) {
	d, x, y := operands[bool](dst, a, b)
	for i := range d {
		d[i] = x[i] != y[i]
	}
}
