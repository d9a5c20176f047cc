package osu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/bench/internal/osu"
)

// FuzzParseSizes checks that a list that the parser accepts has at least one size and no negative size.
func FuzzParseSizes(f *testing.F) {
	for _, seed := range []string{"1:4M", "8,1024", "0", "64K,1M", "9:1", "1:1", ":", ",", "1:2:3", "K", "1099511627776M"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sizes, err := osu.ParseSizes(text)
		if err != nil {
			require.Nil(t, sizes)
			return
		}
		require.NotEmpty(t, sizes)
		for _, size := range sizes {
			require.GreaterOrEqual(t, size, 0)
		}
	})
}
