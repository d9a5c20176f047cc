package shm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The tuner tries every method, prefers the fastest, and changes to another method when that becomes
// faster.
func TestTunerSettles(t *testing.T) {
	for best := range ways {
		var tu tuner
		cost := func(w way) int64 {
			if w == best {
				return 50_000
			}
			return 80_000 + int64(w)
		}
		var picked [ways]int
		for i := range 1000 {
			w := tu.pick(1 << 20)
			tu.note(w, 1<<20, cost(w))
			if i >= 100 {
				picked[w]++
			}
		}
		require.Greater(t, picked[best], 850)
		best = (best + 1) % ways // cost uses the new best
		for range 2000 {
			w := tu.pick(1 << 20)
			tu.note(w, 1<<20, cost(w))
		}
		require.Equal(t, best, tu.pick(1<<20))
	}
}

// The tuner decides for each class of sizes separately, and always copies short Gets alone.
func TestTunerClasses(t *testing.T) {
	var tu tuner
	for range 100 {
		for _, n := range []int{tunedBytes, 1 << 20, 1 << 40} {
			w := tu.pick(n)
			fast := w == wayAlone
			if n > tunedBytes {
				fast = w == wayPiped
			}
			nanos := int64(n)
			if fast {
				nanos /= 2
			}
			tu.note(w, n, nanos)
		}
		require.Equal(t, wayAlone, tu.pick(tunedBytes-1))
	}
	require.Equal(t, " (32 KiB alone, 1024 KiB piped, 16384 KiB piped)", tu.String())
}
