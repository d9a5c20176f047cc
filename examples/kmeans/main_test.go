package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

func TestMain(m *testing.M) { launch.Main(m) }

func TestUsage(t *testing.T) { launch.Usage(t) }

// TestClustersOfProcesses finds two clusters of a file, and clusters of generated points over
// each transport.
func TestClustersOfProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "points.csv")
	require.NoError(t, os.WriteFile(file, []byte("1,1\n9,9\n1,3\n9,11\n"), 0o600))
	require.Equal(t, "[1.00 2.00]\n[9.00 10.00]\n", launch.Example(t, 2, "-k", "2", "-file", file))
	for _, transport := range []string{"shm", "rdma"} {
		out := launch.ExampleWith(t, 3, []string{"-transport", transport}, "-k", "2")
		require.Regexp(t, `^\[-?0\.\d\d -?0\.\d\d\]\n\[(9\.9|10\.0)\d -(9\.9|10\.0)\d\]\n$`, out)
	}
}
