package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// TestComponentsOfProcesses checks that the result does not depend on the number of ranks or the
// transport.
func TestComponentsOfProcesses(t *testing.T) {
	want := launch.Example(t, 1, "-n", "3000", "-edges", "2500")
	require.Regexp(t, `^\d+ components of 3000 vertices, the largest has \d+\n$`, want)
	for _, transport := range []string{"shm", "rdma"} {
		require.Equal(t, want, launch.ExampleWith(t, 3, []string{"-transport", transport}, "-n", "3000", "-edges", "2500"))
	}
}
