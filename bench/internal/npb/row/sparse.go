package row

// Sparse is a block of a sparse matrix, stored by rows. The elements of row i are Value[Start[i]:Start[i+1]], and
// their column numbers are at the same places of Column. All column numbers are in [0, Columns).
type Sparse struct {
	Start   []int
	Column  []int32
	Value   []float64
	Columns int
}

// Multiply sets y = A*x. It adds up eight partial sums for each row, so that the processor need not wait for one
// addition before the next one. The length of y is the number of rows, the length of x at least Columns.
func (a *Sparse) Multiply(y, x []float64) {
	if len(y) == 0 {
		return
	}
	x = x[:len(x):len(x)][:a.Columns]
	last := a.Start[len(y)]
	column, value := a.Column[:last], a.Value[:last]
	if !avx || last == 0 {
		multiply(y, a.Start, column, value, x)
		return
	}
	multiply8(&y[0], &a.Start[0], &column[0], &value[0], &x[0], len(y))
}

// multiply is the portable loop of Multiply.
func multiply(y []float64, start []int, column []int32, value, x []float64) {
	lo := start[0]
	for i := range y {
		hi := start[i+1]
		c := column[lo:hi]
		v := value[lo:hi]
		lo = hi
		var s [block]float64
		for ; len(c) >= block; c, v = c[block:], v[block:] {
			c8, v8 := (*[block]int32)(c), (*[block]float64)(v)
			for k := range block {
				s[k] += float64(v8[k] * x[c8[k]])
			}
		}
		for k := range c {
			s[k] += float64(v[k] * x[c[k]])
		}
		y[i] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
	}
}
