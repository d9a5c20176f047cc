package npb

import "math"

// The function logs is for EP, which computes one logarithm per accepted pair of numbers. math.Log has two
// divisions that depend on each other. logs looks up a reciprocal instead, so that the processor overlaps
// several iterations. The error of logs is below 1e-15 of max(1, |log x|).

const (
	logBits = 7 // number of leading bits of the mantissa that index the table
	// logOffset is the bit pattern of 0.6875, where the table begins. Numbers are scaled to
	// [0.6875, 1.375), so that numbers near 1 keep the exponent 0.
	logOffset = 0x3fe6_0000_0000_0000
)

// logPoint is the table's entry for one interval: the reciprocal of a point of the interval and the
// logarithm of that point.
type logPoint struct{ reciprocal, log float64 }

var logTable = makeLogTable()

func makeLogTable() *[1 << logBits]logPoint {
	table := new([1 << logBits]logPoint)
	for i := range table {
		first := math.Float64frombits(logOffset + uint64(i)<<(52-logBits))
		next := math.Float64frombits(logOffset + uint64(i+1)<<(52-logBits))
		point := 0.5 * (first + next)
		if first == 1 || next == 1 {
			point = 1 // this makes the result exact near 1, where the logarithm is 0
		}
		reciprocal := 1 / point
		table[i] = logPoint{reciprocal, -math.Log(reciprocal)}
	}
	return table
}

// logs stores the natural logarithms of x in y. The elements of x must be positive, finite and normal. logs
// processes whole slices, because the compiler would not inline a function of this size that computes one logarithm.
func logs(y, x []float64) {
	table := logTable
	y = y[:len(x)]
	for i, v := range x {
		bits := math.Float64bits(v)
		scaled := bits - logOffset
		point := &table[scaled>>(52-logBits)&(1<<logBits-1)]
		exponent := float64(int64(scaled) >> 52)
		r := math.Float64frombits(bits-scaled&(0xfff<<52))*point.reciprocal - 1
		// The following lines compute log(1+r) by its series. |r| <= 2^-7, and the first omitted term is
		// r^8/8.
		r2 := r * r
		high := (1.0/5 - r*(1.0/6)) + r2*(1.0/7)
		low := r*(1.0/3) - 0.5
		y[i] = exponent*math.Ln2 + point.log + (r + r2*(low+r2*(high*r-0.25)))
	}
}
