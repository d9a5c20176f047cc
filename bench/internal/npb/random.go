package npb

// The random numbers of NPB (common/randi8.f90): the next state is x' = a*x mod 2^46, and the number is x' *
// 2^-46. The product may overflow 64 bits. The overflow is harmless, because only the low 46 bits are used.
const (
	multiplier = 1220703125 // 5^13
	modMask    = 1<<46 - 1
	unit       = 1.0 / (1 << 46)

	seedEP = 271828183
	seedCG = 314159265
)

// Random is the state of a generator: its last number as an integer, or its seed.
type Random uint64

// Next returns the next number, which is above 0 and below 1. It never returns the seed itself.
func (r *Random) Next() float64 {
	*r = Random(uint64(*r) * multiplier & modMask)
	return float64(*r) * unit
}

// Fill stores the next len(y) numbers in y. They are the same numbers that len(y) calls of Next return. Fill
// computes four interleaved streams to hide the latency of the multiplication.
func (r *Random) Fill(y []float64) {
	const (
		a1 = multiplier
		a2 = a1 * a1 & modMask
		a3 = a2 * a1 & modMask
		a4 = a3 * a1 & modMask
	)
	x0 := uint64(*r)
	x1, x2, x3, x4 := x0*a1&modMask, x0*a2&modMask, x0*a3&modMask, x0*a4&modMask
	last := x0
	for len(y) >= 4 {
		y[0], y[1] = float64(int64(x1))*unit, float64(int64(x2))*unit
		y[2], y[3] = float64(int64(x3))*unit, float64(int64(x4))*unit
		last = x4
		x1, x2, x3, x4 = x1*a4&modMask, x2*a4&modMask, x3*a4&modMask, x4*a4&modMask
		y = y[4:]
	}
	*r = Random(last)
	for i := range y {
		y[i] = r.Next()
	}
}

// Skip advances the state by n numbers in O(log n) steps.
func (r *Random) Skip(n uint64) {
	*r = Random(uint64(*r) * power(multiplier, n) & modMask)
}

// power returns a^n mod 2^46 by repeated squaring.
func power(a, n uint64) uint64 {
	p := uint64(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p = p * a & modMask
		}
		a = a * a & modMask
	}
	return p
}
