package main_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// TestRing checks that the token visits every rank in every lap.
func TestRing(t *testing.T) {
	for _, np := range []int{1, 2, 3, 8} {
		want := fmt.Sprintf("%d hops around %d ranks, sum %d, ", 20*np, np, 20*np*(np-1)/2)
		require.Contains(t, launch.Example(t, np, "-laps", "20"), want)
	}
}

// TestWrongNumbers checks that an invalid number is reported as a wrong flag.
func TestWrongNumbers(t *testing.T) {
	for value, want := range map[string]string{"0": "it must be at least 1", "x": `"x" is not an integer, or is out of range`} {
		_, errors := launch.ExampleEnds(t, 2, 2, nil, "-laps", value)
		require.Contains(t, errors, fmt.Sprintf("invalid value %q for flag -laps: %s\n", value, want))
	}
}
