package runtime_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/runtime"
)

// products calls visit with every non-increasing list of count factors whose product is n.
func products(n, count, limit int, visit func([]int)) {
	if count == 0 {
		if n == 1 {
			visit(nil)
		}
		return
	}
	for f := 1; f <= min(n, limit); f++ {
		if n%f == 0 {
			products(n/f, count-1, f, func(rest []int) { visit(append([]int{f}, rest...)) })
		}
	}
}

// DimsCreate returns the most balanced dimensions whose product is the number of ranks, as an
// exhaustive search does (MPICH's topo/dims1.c).
func TestDimsAreBalanced(t *testing.T) {
	for ranks := 1; ranks <= 150; ranks++ {
		for count := 1; count <= 4; count++ {
			var want []int
			products(ranks, count, ranks, func(p []int) {
				if want == nil || slices.Compare(p, want) < 0 {
					want = p
				}
			})
			got, err := runtime.DimsCreate(ranks, make([]int, count))
			require.NoError(t, err)
			require.Equal(t, want, got, "%d ranks", ranks)
		}
	}
}

// DimsCreate keeps the dimensions that are given, and refuses those that do not divide the number
// of ranks (MPICH's topo/dims2.c).
func TestDimsThatAreGivenStay(t *testing.T) {
	for _, c := range []struct {
		ranks int
		dims  []int
		want  []int
	}{
		{6, []int{0, 0}, []int{3, 2}},
		{7, []int{0, 0}, []int{7, 1}},
		{6, []int{0, 3, 0}, []int{2, 3, 1}},
		{6, []int{3, 2}, []int{3, 2}},
		{1, nil, []int{}},
		{1, []int{0, 0, 0}, []int{1, 1, 1}},
		{64, []int{0, 0, 0}, []int{4, 4, 4}},
		{16, []int{0, 8, 0}, []int{2, 8, 1}},
		{1 << 30, []int{0, 0}, []int{1 << 15, 1 << 15}},
		{1<<31 - 1, []int{0, 0}, []int{1<<31 - 1, 1}},
	} {
		got, err := runtime.DimsCreate(c.ranks, c.dims)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for _, c := range []struct {
		ranks int
		dims  []int
	}{{7, []int{0, 3, 0}}, {6, []int{3}}, {6, []int{3, 3}}, {6, nil}, {0, []int{0}}, {-4, []int{0, 0}}, {6, []int{-1, 0}}, {6, []int{7}}} {
		_, err := runtime.DimsCreate(c.ranks, c.dims)
		require.ErrorIs(t, err, runtime.ErrArgument, "%v", c)
	}
}
