package main_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// TestPi checks the result, for several numbers of ranks. With n intervals, the result of the midpoint rule
// for this integral exceeds pi by about 1/(12 n^2).
func TestPi(t *testing.T) {
	const n = 1000
	for _, np := range []int{1, 2, 3, 7} {
		var got, off float64
		var ranks int
		_, err := fmt.Sscanf(launch.Example(t, np, "-n", fmt.Sprint(n)), "pi is about %f, error %e, %d ranks", &got, &off, &ranks)
		require.NoError(t, err)
		require.Equal(t, np, ranks)
		require.InDelta(t, math.Pi+1.0/12/n/n, got, 1e-12)
		require.InDelta(t, 1.0/12/n/n, off, 1e-8)
	}
}
