package nscluster_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// on runs a command on a host and returns its output.
func on(t *testing.T, c *nscluster.Cluster, host, command string) string {
	t.Helper()
	out, err := c.Command(host, "sh", "-c", command).CombinedOutput()
	require.NoError(t, err, "%s: %s: %s", host, command, out)
	return strings.TrimSpace(string(out))
}

func TestHostsAreMachines(t *testing.T) {
	c := nscluster.Start(t, 3)
	require.Equal(t, []string{"h0", "h1", "h2"}, c.Hosts())
	boots := map[string]bool{}
	for _, h := range c.Hosts() {
		require.Equal(t, h, on(t, c, h, "cat /proc/sys/kernel/hostname"))
		boots[on(t, c, h, "cat /proc/sys/kernel/random/boot_id; stat -c %d /dev/shm")] = true
		require.True(t, c.Network().Contains(c.Address(h)))
		require.Contains(t, on(t, c, h, "ip addr show dev eth0"), c.Address6(h).String()+"/64")
		on(t, c, h, "cat /etc/hosts | grep "+c.Address(h).String())
	}
	require.Len(t, boots, 3)
	on(t, c, "h0", "echo secret > /dev/shm/mine")
	require.Equal(t, "absent", on(t, c, "h1", "cat /dev/shm/mine 2>/dev/null || echo absent"))
	own, err := os.Hostname()
	require.NoError(t, err)
	require.NotContains(t, c.Hosts(), own, "this machine kept its name")
}

func TestHostsReachEachOtherUntilTheCableIsCut(t *testing.T) {
	c := nscluster.Start(t, 2)
	reach := func() bool {
		// Host h1 has to answer the address resolution again.
		on(t, c, "h0", "ip neigh flush all")
		// Nobody listens at the port. A connected host refuses the connection at once, and a cut host does
		// not answer.
		err := c.Command("h0", "timeout", "0.5", "bash", "-c", "</dev/tcp/"+c.Address("h1").String()+"/9").Run()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		return exit.ExitCode() == 1
	}
	require.True(t, reach())
	for _, cut := range []func(string){c.Cut, c.Lose} {
		cut("h1")
		require.False(t, reach())
		c.Join("h1")
		require.True(t, reach())
	}
}

func TestKilledHostLeavesNothing(t *testing.T) {
	c := nscluster.Start(t, 2)
	cmd := c.Command("h1", "sh", "-c", "sleep 1000 & echo up; sleep 1000")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 3))
	require.NoError(t, err)
	found := c.Processes("h1")
	require.GreaterOrEqual(t, len(found), 2, "sh and the first sleep")
	require.Empty(t, c.Processes("h0"))
	c.Kill("h1")
	c.Kill("h1") // Kill of a dead host has no effect
	require.Error(t, cmd.Wait())
	require.Empty(t, c.Processes("h1"))
	for _, pid := range found {
		require.NoFileExists(t, filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	}
}

// TestProcessorTime checks that the time of ended processes is counted on every host.
func TestProcessorTime(t *testing.T) {
	c := nscluster.Start(t, 2)
	before, ok := c.Processor()
	if !ok {
		t.Skip("no writable cgroup v2 file system")
	}
	on(t, c, "h0", "true")
	one, ok := c.Processor()
	require.True(t, ok)
	require.Greater(t, one, before)
	on(t, c, "h1", "true")
	both, ok := c.Processor()
	require.True(t, ok)
	require.Greater(t, both, one)
}

func TestSSHRunsOnTheOtherHost(t *testing.T) {
	c := nscluster.StartSSH(t, 2)
	require.Equal(t, "h1", on(t, c, "h0", c.SSH()+" h1 cat /proc/sys/kernel/hostname"))
}

func TestMachineIsNotTouched(t *testing.T) {
	before := interfaces(t)
	c := nscluster.Start(t, 1)
	require.Equal(t, before, interfaces(t))
	require.NotEmpty(t, c.Rsh())
}

// TestForbiddenNamespacesSkip checks that tests are skipped, with the reason, if root is not allowed
// to make namespaces, or networks in them.
func TestForbiddenNamespacesSkip(t *testing.T) {
	nscluster.Start(t, 1) // skips with another reason if something else is missing
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("needs setpriv (apt-get install util-linux)")
	}
	for drop, want := range map[string]string{"-sys_admin": "nscluster: cannot make a ", "-net_admin": "nscluster: cannot "} {
		out, err := exec.Command(setpriv, "--inh-caps="+drop, "--bounding-set="+drop, os.Args[0], "-test.run=^TestMachineIsNotTouched$", "-test.v").CombinedOutput()
		require.NoError(t, err, "%s: %s", drop, out)
		require.Contains(t, string(out), "--- SKIP: TestMachineIsNotTouched", drop)
		require.Contains(t, string(out), want, drop)
	}
}

func interfaces(t *testing.T) []string {
	t.Helper()
	all, err := net.Interfaces()
	require.NoError(t, err)
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}
