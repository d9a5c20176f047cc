package npb

import "math"

// A logarithm for EP, which computes one per pair. math.Log has two dependent
// divisions; this one looks up a reciprocal and has no division, so the
// processor overlaps several. Its error is below 1e-15 of max(1, |log x|).

const (
	logBits = 7 // of the mantissa that index the table
	// logOffset is the bit pattern of 0.6875, where the table begins: numbers are
	// scaled to [0.6875, 1.375), so that those near 1 keep the exponent 0.
	logOffset = 0x3fe6_0000_0000_0000
)

// logPoint is one interval of the table: the reciprocal of a point in it and
// the logarithm of that point.
type logPoint struct{ reciprocal, log float64 }

var logTable = makeLogTable()

func makeLogTable() *[1 << logBits]logPoint {
	table := new([1 << logBits]logPoint)
	for i := range table {
		first := math.Float64frombits(logOffset + uint64(i)<<(52-logBits))
		next := math.Float64frombits(logOffset + uint64(i+1)<<(52-logBits))
		point := 0.5 * (first + next)
		if first == 1 || next == 1 {
			point = 1 // exact near 1, where the logarithm vanishes
		}
		reciprocal := 1 / point
		table[i] = logPoint{reciprocal, -math.Log(reciprocal)}
	}
	return table
}

// logs sets y to the natural logarithms of x, which are positive, finite and
// normal. It works on slices because the body is too large to be inlined.
func logs(y, x []float64) {
	table := logTable
	y = y[:len(x)]
	for i, v := range x {
		bits := math.Float64bits(v)
		scaled := bits - logOffset
		point := &table[scaled>>(52-logBits)&(1<<logBits-1)]
		exponent := float64(int64(scaled) >> 52)
		r := math.Float64frombits(bits-scaled&(0xfff<<52))*point.reciprocal - 1
		// log(1+r) by its series: |r| <= 2^-7, the first term left out is r^8/8.
		r2 := r * r
		high := (1.0/5 - r*(1.0/6)) + r2*(1.0/7)
		low := r*(1.0/3) - 0.5
		y[i] = exponent*math.Ln2 + point.log + (r + r2*(low+r2*(high*r-0.25)))
	}
}
