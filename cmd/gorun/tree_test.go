package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
)

// binaryTree makes gorun and its agents start two agents each.
var binaryTree = []string{"GORUN_RADIX=2"}

// six returns the flags for six hosts of two ranks each. In a binary tree of depth two, a starts b
// and c, and d starts e and f.
func six(t *testing.T, flags ...string) []string {
	t.Helper()
	return append([]string{"-host", "a:2,b:2,c:2,d:2,e:2,f:2", "-rsh", rsh(t)}, flags...)
}

// In a tree of agents, all ranks form one world. With -v, gorun names the parent of each host.
func TestTreeOfAgents(t *testing.T) {
	r := command(t, binaryTree, helper(six(t, "-v", "-l"), "book")...)
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	for rank := range 12 {
		require.Contains(t, r.out.String(), fmt.Sprintf("[%2d] a0=0 a1=0 b0=1 b1=1 c0=2 c1=2 d0=3 d1=3 e0=4 e1=4 f0=5 f1=5\n", rank))
	}
	for below, above := range map[string]string{"b": "a", "c": "a", "e": "d", "f": "d"} {
		require.Contains(t, r.err.String(), fmt.Sprintf("host %s: from host %s: ", below, above))
	}
	gone(t, r)
}

// Input passes through the tree of agents unchanged. Every line of output arrives whole, with the label of a
// rank.
func TestOutputAndInputThroughTheTree(t *testing.T) {
	data := noise(11, 1<<20+5)
	name := file(t, data).Name()
	t.Setenv("GORUN_RADIX", "2")
	for rank, got := range copyInput(t, bytes.NewReader(data), 12, six(t, "-stdin", "all")...) {
		require.True(t, bytes.Equal(data, got), "%d bytes to rank %d", len(got), rank)
	}
	r := command(t, binaryTree, six(t, "-l", "sh", "-c", "cat "+name+" | cksum; seq 5000")...)
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	lines := strings.Split(strings.TrimSuffix(r.out.String(), "\n"), "\n")
	require.Len(t, lines, 12*5001)
	for _, line := range lines {
		require.Regexp(t, `^\[[ 1]\d\] \d+( 1048581)?$`, line)
	}
}

// Failures of ranks and of hosts in a tree lead to the same exit codes and messages as without a tree.
func TestEndsInTheTree(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		err  string
	}{
		"a rank fails":  {[]string{"sh", "-c", "[ $GORUN_RANK = 10 ] && exit 7; exec sleep 1000"}, 7, "first failure: rank 10 (sh, host f, pid "},
		"not there":     {[]string{"./no-such-program"}, 127, "no such file"},
		"a bad host":    {[]string{"-host", "g", "-rsh", script(t, "[ $1 = e ] && { echo no way >&2; exit 255; }\nexport GORUN_HOSTID=$1; shift; exec \"$@\"\n"), "true"}, 125, "host e: it cannot be reached"},
		"a bad parent":  {[]string{"-rsh", script(t, "[ $1 = d ] && { echo no way >&2; exit 255; }\nexport GORUN_HOSTID=$1; shift; exec \"$@\"\n"), "true"}, 125, "host d: it cannot be reached"},
		"one node each": {[]string{"-rsh", script(t, "shift; exec \"$@\"\n"), "true"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := command(t, binaryTree, six(t, c.args...)...)
			require.NoError(t, r.Start())
			require.Equal(t, c.code, r.wait(t), r.err.String())
			require.Contains(t, r.err.String(), c.err)
			gone(t, r)
		})
	}
}

// If a host that has children cannot run the command of -rsh, the error names that host and the
// cause.
func TestCommandThatInnerHostsLack(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gorun-test-rsh")
	require.NoError(t, os.Symlink(script(t, "export PATH=/usr/bin:/bin GORUN_HOSTID=$1; shift; exec \"$@\"\n"), name))
	r := command(t, append(binaryTree, "PATH="+filepath.Dir(name)+":/usr/bin:/bin"), "-host", "a,b,c", "-rsh", filepath.Base(name), "true")
	require.NoError(t, r.Start())
	require.Equal(t, 125, r.wait(t))
	require.Contains(t, r.err.String(), "host c: host b, from which it is reached, cannot run "+filepath.Base(name)+": ")
	require.Contains(t, r.err.String(), "the command of -rsh has to be on that host as well")
	gone(t, r)
}

// gorun refuses an invalid radix before it starts anything.
func TestRadixThatIsNone(t *testing.T) {
	r := command(t, []string{"GORUN_RADIX=many"}, "-host", "a", "-rsh", "/no/such/command", "true")
	require.NoError(t, r.Start())
	require.Equal(t, 125, r.wait(t))
	require.Contains(t, r.err.String(), "GORUN_RADIX=many: want the number of hosts")
	require.NotContains(t, r.err.String(), "/no/such/command", "nothing is started")
}

// killAgent kills the agents of a host. There are two agents if the containment is a PID namespace.
func killAgent(t *testing.T, r *run, host string) {
	t.Helper()
	victims := slices.DeleteFunc(agents(t, r), func(pid int) bool { return hostOf(t, pid) != host })
	require.NotEmpty(t, victims)
	for _, pid := range victims {
		kill9(pid)
	}
}

// The loss of an agent with children ends the job. The first failure names the host of that agent, and not
// the hosts below it.
func TestLossOfAnInnerAgent(t *testing.T) {
	for _, contain := range contains {
		r, _ := ready(t, 12, "ready", append([]string{"GORUN_CONTAIN=" + contain}, binaryTree...), helper(six(t), "grandchildren"))
		killAgent(t, r, "d")
		require.Equal(t, 125, r.wait(t), r.err.String())
		require.Contains(t, r.err.String(), "first failure: host d is lost with ranks 6-7: ")
		gone(t, r)
	}
}

// With -on-failure continue, the loss of an agent with children is also the loss of all hosts below it.
func TestSurvivorsGoOnWithoutABranch(t *testing.T) {
	r, _ := ready(t, 12, "ready", binaryTree, helper(six(t, "-on-failure", "continue"), "grandchildren"))
	killAgent(t, r, "d")
	require.Equal(t, 125, r.wait(t), r.err.String())
	for _, lost := range []string{"host d is lost with ranks 6-7: ", "host e is lost with ranks 8-9: it was reached through host d", "host f is lost with ranks 10-11: it was reached through host d"} {
		require.Contains(t, r.err.String(), lost)
	}
	gone(t, r)
}

// If gorun is killed, no process of the tree is left.
func TestKilledGorunEndsTheTree(t *testing.T) {
	r, _ := ready(t, 12, "ready", binaryTree, helper(six(t), "grandchildren"))
	kill9(r.Process.Pid)
	require.Equal(t, 137, r.wait(t))
	gone(t, r)
}

// Signals reach the ranks of all hosts of the tree.
func TestSignalsThroughTheTree(t *testing.T) {
	r, out := ready(t, 12, "ready", binaryTree, helper(six(t), "signals", "SIGTERM"))
	for _, sig := range []unix.Signal{unix.SIGUSR1, unix.SIGTERM} {
		require.NoError(t, r.Process.Signal(sig))
		awaitLines(t, out, 12, unix.SignalName(sig))
	}
	require.Zero(t, r.wait(t), r.err.String())
}

// A host whose network fails is lost. The first failure names this host, and not the host below it.
func TestCutHostInATree(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the silence of a host")
	}
	c := nscluster.StartSSH(t, 6)
	r := onFirst(t, c, helper([]string{"-host", "h1,h2,h3,h4,h5", "-rsh", c.SSH()}, "grandchildren")...)
	r.Env = append(r.Env, binaryTree...)
	out := r.lines(t)
	require.NoError(t, r.Start())
	awaitLines(t, out, 5, "ready")
	c.Cut("h1") // h1 has started h2
	require.Equal(t, 125, r.wait(t), r.err.String())
	require.Contains(t, r.err.String(), "first failure: host h1 is lost with rank 0: ")
	c.Join("h1")
	empty(t, c)
}

// A second interrupt kills the ranks of an inner host. It does not kill the commands that reach the hosts
// below, so that these hosts can report the ends of their ranks and are not lost.
func TestKillInTheTree(t *testing.T) {
	for _, contain := range contains {
		env := append([]string{"GORUN_CONTAIN=" + contain}, binaryTree...)
		r, out := ready(t, 12, "ready", env, helper(six(t, "-grace", "10m", "-on-failure", "continue"), "signals"))
		for i := range 2 {
			require.NoError(t, r.Process.Signal(unix.SIGINT))
			if i == 0 {
				awaitLines(t, out, 12, "SIGINT")
			}
		}
		require.Equal(t, 130, r.wait(t), r.err.String())
		require.NotContains(t, r.err.String(), "is lost")
		gone(t, r)
	}
}
