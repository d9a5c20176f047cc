package row_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
)

// TestTally compares both loops with one that counts key by key. Some numbers of keys are multiples of 4, the number of
// keys that both loops count at once, and others are not. Before the calls, the counters have different values.
func TestTally(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 20))
	for _, n := range []int{0, 1, 3, 4, 5, 63, 5000} {
		for _, shift := range []int{0, 2, 11} {
			keys := make([]int32, n)
			for i := range keys {
				keys[i] = random.Int32N(row.Buckets << shift)
			}
			if n > 0 {
				keys[n/2] = row.Buckets<<shift - 1 // the last bucket
			}
			var want [row.Buckets]int32
			for b := range want {
				want[b] = int32(b)
			}
			before := want
			for _, key := range keys {
				want[key>>shift]++
			}
			for name, loop := range map[string]func(*[row.Buckets]int32, []int32, int){"chosen": row.Tally, "portable": row.PortableTally} {
				got := before
				loop(&got, keys, shift)
				require.Equal(t, want, got, fmt.Sprintf("%s: %d keys, shift %d", name, n, shift))
			}
		}
	}
}
