package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// TestOneConnectionOfSSHForManyJobs checks that, with ssh's ControlMaster, the second job uses the connection
// of the first job. Neither job may wait for the ssh process that stays in the background.
func TestOneConnectionOfSSHForManyJobs(t *testing.T) {
	c := nscluster.StartSSH(t, 2)
	dir, err := os.MkdirTemp("", "ssh") //nolint:usetesting // the path of ssh's socket, below dir, must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	words := strings.Fields(c.SSH())
	log := filepath.Join(filepath.Dir(words[len(words)-1]), "h1.log")
	rsh := c.SSH() + " -oControlMaster=auto -oControlPath=" + dir + "/%C -oControlPersist=600"
	var connections []int
	for range 2 {
		r := onFirst(t, c, "-host", "h1:2", "-rsh", rsh, "sh", "-c", "cat /proc/sys/kernel/hostname")
		require.NoError(t, r.Start())
		require.Zero(t, r.wait(t), r.err.String())
		require.Equal(t, "h1\nh1\n", r.out.String())
		connections = append(connections, strings.Count(content(log), "Accepted publickey"))
	}
	require.Equal(t, []int{1, 1}, connections, "connections that the host has taken after each job")
	out, err := c.Command("h0", append(strings.Fields(rsh), "-O", "exit", "h1")...).CombinedOutput()
	require.NoError(t, err, string(out))
	empty(t, c)
}
