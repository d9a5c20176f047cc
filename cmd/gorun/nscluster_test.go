package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// empty waits until no process is left on any host, because the last processes may take a moment to end.
func empty(t *testing.T, c *nscluster.Cluster) {
	t.Helper()
	for _, h := range c.Hosts() {
		for pids := c.Processes(h); len(pids) > 0; pids = c.Processes(h) {
			for _, pid := range pids {
				await(t, pid)
			}
		}
	}
}

// gorun runs jobs on hosts that are network namespaces of this machine. Cards, input, output and failures are
// the same as on separate hosts.
func TestNamespacesAreHosts(t *testing.T) {
	c := nscluster.Start(t, 3)
	got := gorun(t, strings.NewReader("input"), helper([]string{"-host", "h0:2,h1:2,h2:2", "-rsh", c.Rsh(), "-l"}, "book")...)
	require.Zero(t, got.code, got.err)
	for rank := range 6 {
		require.Contains(t, got.out, fmt.Sprintf("[%d] h00=0 h01=0 h10=1 h11=1 h20=2 h21=2\n", rank))
	}
	got = gorun(t, strings.NewReader("input"), "-host", "h0,h1", "-rsh", c.Rsh(), "-prefix", "%h: ", "sh", "-c", "cat /proc/sys/kernel/hostname; cat")
	require.Zero(t, got.code, got.err)
	require.ElementsMatch(t, []string{"h0: h0", "h0: input", "h1: h1"}, strings.Split(strings.TrimSpace(got.out), "\n"))
	got = gorun(t, nil, helper([]string{"-host", "h0,h1", "-rsh", c.Rsh()}, "die", "1", "9")...)
	require.Equal(t, 137, got.code, got.err)
	require.Contains(t, got.err, "first failure: rank 1 ("+self+", host h1, pid ")
	empty(t, c)
}

// With "ip netns exec" as the value of -rsh, gorun shows the error message of ip for a network namespace that
// does not exist.
func TestIPNetnsExecIsARsh(t *testing.T) {
	nscluster.Start(t, 1) // skips where namespaces are not permitted
	got := gorun(t, nil, "-host", "nowhere", "-rsh", "ip netns exec", "true")
	require.Equal(t, 125, got.code)
	require.Contains(t, got.err, "host nowhere: it cannot be reached")
	require.Contains(t, got.err, `  | Cannot open network namespace "nowhere"`)
}

// Hosts with the same boot ID and /dev/shm whose processes do not see each other are separate
// nodes.
func TestHostsThatLookLikeOneNodeButAreNot(t *testing.T) {
	nscluster.Start(t, 1) // skips where namespaces are not permitted
	// The hosts have one boot ID and one /dev/shm, but their processes do not see each other.
	apart := script(t, "shift; exec unshare --pid --fork --kill-child --mount-proc -- \"$@\"\n")
	got := gorun(t, nil, helper([]string{"-v", "-host", "a:2,b:2", "-rsh", apart}, "book")...)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "hosts a and b look like one node, but are not: ")
	require.Equal(t, strings.Repeat("a0=0 a1=0 b0=1 b1=1\n", 4), got.out)
}

// If all processes of a host end at once, the job ends, gorun names the host, and no process is
// left.
func TestPowerFailureOfAHost(t *testing.T) {
	for _, contain := range contains {
		c := nscluster.Start(t, 2)
		r, _ := ready(t, 4, "ready", []string{"GORUN_CONTAIN=" + contain}, helper([]string{"-host", "h0:2,h1:2", "-rsh", c.Rsh()}, "grandchildren"))
		require.NotEmpty(t, c.Processes("h1"))
		c.Kill("h1")
		require.Equal(t, 125, r.wait(t), r.err.String())
		require.Contains(t, r.err.String(), "host h1 is lost with ranks 2-3: the connection ended")
		empty(t, c)
	}
}

// onFirst prepares a gorun that runs on h0, the first host of the cluster.
func onFirst(t *testing.T, c *nscluster.Cluster, args ...string) *run {
	t.Helper()
	return onHost(t, c, "h0", args...)
}

// onHost prepares a gorun that runs on a host of the cluster.
func onHost(t *testing.T, c *nscluster.Cluster, host string, args ...string) *run {
	t.Helper()
	r := command(t, nil, args...)
	on := c.Command(host)
	r.Args = append(append(on.Args, r.Path), r.Args[1:]...)
	r.Path = on.Path
	return r
}

// Arguments, output, failures and errors are right for hosts that gorun reaches by ssh.
func TestHostsOverSSH(t *testing.T) {
	c := nscluster.StartSSH(t, 3)
	data := noise(1, 1<<20)
	name := file(t, data).Name()
	hosts := []string{"-host", "h1:2,h2:2", "-rsh", c.SSH() + " -oBatchMode=yes"}
	r := onFirst(t, c, append(hosts, "-x", "TEXT=it's $HOME \"quoted\"", "-wdir", "/tmp", "-prefix", "%r@%h ", "sh", "-c",
		`cat /proc/sys/kernel/hostname; echo "$TEXT" $PWD; cat | cksum`)...)
	r.Stdin = bytes.NewReader(data)
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	for rank, h := range []string{"h1", "h1", "h2", "h2"} {
		tag := fmt.Sprintf("%d@%s ", rank, h)
		require.Contains(t, r.out.String(), tag+h+"\n")
		require.Contains(t, r.out.String(), tag+"it's $HOME \"quoted\" /tmp\n")
	}
	r = onFirst(t, c, append(hosts, "-output-dir", filepath.Dir(name), "cat", name)...)
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	for rank := range 4 {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(name), fmt.Sprintf("rank.%d.out", rank)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, b))
	}
	r = onFirst(t, c, helper(hosts, "die", "3", "9")...)
	require.NoError(t, r.Start())
	require.Equal(t, 137, r.wait(t))
	require.Contains(t, r.err.String(), "host h2")
	r = onFirst(t, c, append(hosts[2:], "-host", "h1,h2,h9", "true")...)
	require.NoError(t, r.Start())
	require.Equal(t, 125, r.wait(t))
	require.Contains(t, r.err.String(), "host h9: it cannot be reached")
	require.Contains(t, r.err.String(), "exit status 255")
	r = onFirst(t, c, append(hosts, "-agent-path", "/no/gorun", "true")...)
	require.NoError(t, r.Start())
	require.Equal(t, 125, r.wait(t))
	require.Contains(t, r.err.String(), "host h2: there is no gorun at /no/gorun")
	empty(t, c)
}

// If gorun is killed, no process is left on hosts that it has reached by ssh.
func TestKilledGorunLeavesNothingOverSSH(t *testing.T) {
	c := nscluster.StartSSH(t, 3)
	r := onFirst(t, c, helper([]string{"-host", "h1:2,h2:2", "-rsh", c.SSH()}, "grandchildren")...)
	out := r.lines(t)
	require.NoError(t, r.Start())
	awaitLines(t, out, 4, "ready")
	require.NotEmpty(t, c.Processes("h2"))
	for _, pid := range c.Processes("h0") {
		if strings.HasPrefix(commandLine(pid), binary+" -host") {
			kill9(pid)
		}
	}
	require.Equal(t, 137, r.wait(t))
	empty(t, c)
}
