package collectives_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
)

// One rank makes another call than all other ranks, after their calls have begun. Every rank blames this rank, even a
// rank that has exchanged no message with it. If there are only two ranks, both blame the lower one.
func TestMismatchIsBlamedOnTheOneThatDiffers(t *testing.T) {
	for name, tc := range map[string]struct{ odd, rest step }{
		"operations":    {collectives.Barrier, sumOf(1)},
		"lengths":       {sumOf(9000), sumOf(9001)},
		"element types": {floats(1), sumOf(1)},
		"roots":         {bcastOf(1, 1), bcastOf(1, 0)},
	} {
		for _, size := range []int{2, 3, 5} {
			for _, distant := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/distant=%v", name, size, distant), func(t *testing.T) {
					t.Parallel()
					for _, odd := range []int{0, size - 1} {
						blamed := mismatchedAt(t, size, odd, 1, distant, tc.odd, tc.rest, true, nil)
						want := odd
						if size == 2 {
							want = 0
						}
						require.Len(t, blamed, size)
						for rank, b := range blamed {
							require.Equal(t, want, b, "at rank %d", rank)
						}
					}
				})
			}
		}
	}
}
