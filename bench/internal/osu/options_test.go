package osu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
)

func TestParseSizes(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []int // nil if an error is expected
	}{
		{"1:8", []int{1, 2, 4, 8}},
		{"8", []int{8}},
		{"8,1024,3", []int{8, 1024, 3}},
		{"64K,1M", []int{64 << 10, 1 << 20}},
		{"0", []int{0}},
		{"1K:4K", []int{1 << 10, 2 << 10, 4 << 10}},
		{"5:12", []int{5, 10}},
		{"8:1", nil},
		{"0:4", nil},
		{"", nil},
		{"-1", nil},
		{"x", nil},
		{"8,", nil},
		{"1:x", nil},
		{"99999999999999", nil},
	} {
		got, err := osu.ParseSizes(tc.text)
		if tc.want == nil {
			require.Error(t, err, tc.text)
			continue
		}
		require.NoError(t, err, tc.text)
		require.Equal(t, tc.want, got, tc.text)
	}
}

func TestLoops(t *testing.T) {
	o := osu.Define("test").WithSizes("1:4").WithCounts(osu.Latency)
	timed, warmup := o.Loops(8192)
	require.Equal(t, [2]int{10000, 100}, [2]int{timed, warmup})
	timed, warmup = o.Loops(8193)
	require.Equal(t, [2]int{1000, 10}, [2]int{timed, warmup})
	o.Iterations, o.Warmup = 5, 0
	timed, warmup = o.Loops(1)
	require.Equal(t, [2]int{5, 0}, [2]int{timed, warmup})
	require.Equal(t, []int{1, 2, 4}, o.Sizes)
}
