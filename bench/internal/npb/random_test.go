package npb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb"
)

// vectors holds, for each seed, the first states after the seed and the millionth state.
var vectors = []struct {
	seed     npb.Random
	first    []npb.Random
	millions npb.Random
}{
	{314159265, []npb.Random{55909509111989, 61155031930969, 45573031421645, 55279057169489, 1250169187877}, 50447193586593},
	{271828183, []npb.Random{32883653486115, 55063727434591, 39106144873291, 46899331031975, 34322078696755}, 35523939983831},
}

func TestRandomVectors(t *testing.T) {
	for _, v := range vectors {
		r := v.seed
		for _, want := range v.first {
			got := r.Next()
			require.Equal(t, want, r)
			require.Equal(t, float64(want)/(1<<46), got)
		}
		for range 1000000 - len(v.first) {
			r.Next()
		}
		require.Equal(t, v.millions, r)

		skipped := v.seed
		skipped.Skip(1000000)
		require.Equal(t, v.millions, skipped)
	}
}

// TestRandomSkipBatch checks that Skip multiplies the state by a^(2^17) when it skips the numbers of a batch of EP.
func TestRandomSkipBatch(t *testing.T) {
	r := npb.Random(1)
	r.Skip(1 << 17)
	require.Equal(t, npb.Random(62362532446209), r)
}

func TestRandomFillEqualsNext(t *testing.T) {
	for n := range 23 {
		one, many := npb.Random(314159265), npb.Random(314159265)
		want := make([]float64, n)
		for i := range want {
			want[i] = one.Next()
		}
		got := make([]float64, n)
		many.Fill(got)
		require.Equal(t, want, got, "%d numbers", n)
		require.Equal(t, one, many, "state after %d numbers", n)
	}
}
