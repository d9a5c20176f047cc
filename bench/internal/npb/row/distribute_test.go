package row_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/npb/row"
)

// TestDistribute compares both loops with a stable sort by bucket. Some numbers of keys are multiples of 4, the number
// of keys that the portable loop handles at once, and others are not. The last bucket ends at the end of the slice.
func TestDistribute(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 18))
	for _, n := range []int{0, 1, 3, 4, 5, 63, 5000} {
		for _, shift := range []int{0, 2, 11} {
			t.Run(fmt.Sprintf("%d keys, shift %d", n, shift), func(t *testing.T) {
				keys := make([]int32, n)
				for i := range keys {
					keys[i] = random.Int32N(row.Buckets << shift)
				}
				if n > 0 {
					keys[n/2] = row.Buckets<<shift - 1 // the last bucket
				}
				want := slices.Clone(keys)
				slices.SortStableFunc(want, func(a, b int32) int { return int(a>>shift - b>>shift) })
				for name, loop := range map[string]func([]int32, *[row.Buckets]int32, []int32, int){
					"chosen": row.Distribute, "portable": row.PortableDistribute,
				} {
					var next, after [row.Buckets]int32
					for _, key := range keys {
						after[key>>shift]++
					}
					for b := 1; b < row.Buckets; b++ {
						next[b] = next[b-1] + after[b-1]
					}
					for b := range after {
						after[b] += next[b]
					}
					got := make([]int32, n)
					loop(got, &next, keys, shift)
					require.Equal(t, want, got, name)
					require.Equal(t, after, next, name)
				}
			})
		}
	}
}

// TestNoPlaceForAKey checks that both loops panic at a key whose place is not in the slice, and write nothing there.
func TestNoPlaceForAKey(t *testing.T) {
	keys := []int32{0, 0, 1, 0, 0, 0}
	for _, first := range []int32{6, -1, 1 << 30} {
		for name, loop := range map[string]func([]int32, *[row.Buckets]int32, []int32, int){
			"chosen": row.Distribute, "portable": row.PortableDistribute,
		} {
			whole := []int32{9, 9, 9, 9, 9, 9, 9, 9}
			require.Panics(t, func() { loop(whole[:6], &[row.Buckets]int32{2, first}, keys, 0) }, name)
			require.Equal(t, []int32{9, 9, 0, 0}, whole[:4], name)
			require.Equal(t, []int32{9, 9}, whole[6:], name)
		}
	}
	require.Panics(t, func() { row.Distribute(nil, new([row.Buckets]int32), keys, 0) })
}
