package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// TestPipeline checks that every frame arrives in order, although the last stage is slower than
// the others.
func TestPipeline(t *testing.T) {
	for _, transport := range []string{"shm", "rdma"} {
		out := launch.ExampleWith(t, 4, []string{"-transport", transport}, "-frames", "200")
		require.Equal(t, "200 frames through 2 brightening stages\n", out, transport)
	}
	require.Equal(t, "50 frames through 0 brightening stages\n", launch.Example(t, 2, "-frames", "50"))
}
