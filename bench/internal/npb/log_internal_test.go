package npb

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLogsEqualMathLog(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	check := func(x float64) {
		y := make([]float64, 1)
		logs(y, []float64{x})
		got, want := y[0], math.Log(x)
		if math.Abs(got-want) > 1e-15*math.Max(1, math.Abs(want)) {
			t.Fatalf("log(%v) = %v, want %v", x, got, want)
		}
	}
	for range 200000 {
		check(random.Float64() + 1e-300)
		check(1 - random.Float64()/64)
		check(1 + random.Float64()/64)
		check(math.Exp(600 * (random.Float64() - 0.5)))
	}
	for i := range len(logTable) {
		edge := math.Float64frombits(logOffset + uint64(i)<<(52-logBits))
		check(edge)
		check(math.Nextafter(edge, 0))
	}
	check(1)
}
