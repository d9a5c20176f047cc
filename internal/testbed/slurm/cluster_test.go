package slurm_test

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/slurm"
)

func TestTasksRunOnTheHosts(t *testing.T) {
	c := slurm.Start(t, 3)
	out, err := c.Command("srun", "-N3", "-n3", "cat", "/proc/sys/kernel/hostname").CombinedOutput()
	require.NoError(t, err, string(out))
	names := strings.Fields(string(out))
	sort.Strings(names)
	require.Equal(t, c.Hosts(), names)
	c.Empty()
	for _, h := range c.Hosts() {
		require.Empty(t, c.Processes(h))
	}
}
