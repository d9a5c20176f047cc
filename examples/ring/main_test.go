package main_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/examples/internal/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

// The token visits every rank in every lap.
func TestRing(t *testing.T) {
	for _, np := range []int{1, 2, 3, 8} {
		want := fmt.Sprintf("%d hops around %d ranks, sum %d, ", 20*np, np, 20*np*(np-1)/2)
		require.Contains(t, launch.Run(t, np, "-laps", "20"), want)
	}
}
