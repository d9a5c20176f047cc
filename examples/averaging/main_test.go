package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// TestAveraging checks that both actors of rank 0 find the line, in a job of one rank and in jobs of four ranks
// over each transport.
func TestAveraging(t *testing.T) {
	const want = "y = 3.000 x + -1.000 after 400 steps\n"
	require.Equal(t, want+want, launch.Example(t, 1))
	for _, transport := range []string{"shm", "rdma"} {
		require.Equal(t, want+want, launch.ExampleWith(t, 4, []string{"-transport", transport}))
	}
}
