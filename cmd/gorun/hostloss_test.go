package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// If a host cannot be used, no rank runs. The error names the host, the cause and the remedy. It does not
// name hosts that have answered.
func TestHostsThatCannotBeUsed(t *testing.T) {
	bad := func(text string) string { return script(t, "[ $1 = a ] && { shift; exec \"$@\"; }\n"+text) }
	for name, c := range map[string]struct {
		rsh string
		err []string
	}{
		"unreachable": {
			bad("echo 'connect to host b port 22: Connection refused' >&2; exit 255"),
			[]string{"host b: it cannot be reached", "exit status 255", "  | connect to host b port 22: Connection refused", "try by hand: "},
		},
		"no gorun there":    {bad("exec sh -c /no/such/gorun"), []string{"host b: there is no gorun at " + binary, "  | ", "not found", "-agent-path"}},
		"not executable":    {bad("exit 126"), []string{"host b: there is no gorun", "-agent-path"}},
		"ends at once":      {bad("exit 0"), []string{"host b: ", " ended without an answer of gorun", "-agent-path", "-copy"}},
		"dies":              {bad("kill -9 $$"), []string{"host b: it cannot be reached", "signal: killed"}},
		"message of day":    {bad("echo Welcome to b; exec \"$@\""), []string{`host b: something else answers in place of gorun: "Welcome to b"`, ".bashrc"}},
		"noise, no newline": {bad("printf 'Welcome to b'; sleep 0.1; exit 1"), []string{`in place of gorun: "Welcome to b"`}},
		"endless noise":     {bad("exec cat /dev/zero"), []string{`in place of gorun: "\x00\x00`}},
		"another version":   {bad("echo gorun-agent 1 v0.0.1; exec sleep 1000"), []string{"host b: its gorun is version v0.0.1 (protocol 1)", "copy this one there"}},
		"another protocol":  {bad("echo gorun-agent 99 v9.9.9; exec sleep 1000"), []string{"protocol 99", "copy this one there"}},
		"noise later":       {script(t, "shift; printf 'gorun-agent %d %s\\nWelcome, and more' "+fmt.Sprint(link.Protocol)+" '"+gorunVersion(t)+"'; exec sleep 1000"), []string{"host b: it cannot be reached", "malformed"}},
		"half a preamble":   {bad("printf gorun-ag"), []string{"host b: it cannot be reached"}},
		"silent":            {bad("exec sleep 1000"), []string{"host b: no answer within 500ms", "try by hand"}},
		"no such command":   {"/no/such/rsh", []string{"host a: cannot run /no/such/rsh", "-rsh names another"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := command(t, nil, "-host", "a,b", "-rsh", c.rsh, "-answer-within", "30s", "sh", "-c", "echo started")
			if name == "silent" {
				r.Args[6] = "500ms"
			}
			require.NoError(t, r.Start())
			require.Equal(t, 125, r.wait(t), r.err.String())
			require.Empty(t, r.out.String(), "no rank runs")
			for _, want := range c.err {
				require.Contains(t, r.err.String(), want)
			}
			require.NotContains(t, r.err.String(), "is lost", "the hosts that answered are not to blame")
			gone(t, r)
		})
	}
}

// While gorun waits for a slow host, it does not declare the other hosts lost.
func TestSlowHostDoesNotLoseTheOthers(t *testing.T) {
	t.Parallel() // the test waits most of the time
	slow := script(t, fmt.Sprintf("h=$1; shift; export GORUN_HOSTID=$h; [ $h = b ] && sleep %v; exec \"$@\"", (link.Silence+time.Second).Seconds()))
	got := gorun(t, nil, helper([]string{"-host", "a,b", "-rsh", slow}, "join")...)
	require.Equal(t, result{out: got.out}, got)
	require.Equal(t, 2, strings.Count(got.out, " of 2\n"))
}

// gorunVersion returns the version in the preamble of the gorun under test.
func gorunVersion(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(binary, "-gorun-agent")
	cmd.Stdin = bytes.NewReader(nil)
	out, err := cmd.Output()
	require.Error(t, err, "an agent without a launcher fails")
	_, version, err := link.ReadPreamble(bufio.NewReader(bytes.NewReader(out)))
	require.NoError(t, err)
	return version
}

// If several hosts cannot be reached, the errors name each of them.
func TestAllBadHostsAreNamed(t *testing.T) {
	// Each command fails only after all three have begun.
	dir := t.TempDir()
	got := gorun(t, nil, "-host", "a,b,c", "-rsh", script(t, "touch "+dir+"/$1; until [ -e "+dir+"/a -a -e "+dir+"/b -a -e "+dir+"/c ]; do sleep 0.01; done\necho no route to $1 >&2; exit 255"), "true")
	require.Equal(t, 125, got.code)
	for _, h := range []string{"a", "b", "c"} {
		require.Contains(t, got.err, "host "+h+": it cannot be reached")
		require.Contains(t, got.err, "  | no route to "+h)
	}
}

// After the failure of one host, gorun waits for slow hosts only for failureDelay, because the job cannot start
// without the failed host.
func TestFailureEndsTheWaitForOthers(t *testing.T) {
	for _, hosts := range []string{"slow,bad", "bad,slow", "good,slow,bad,d,e,f"} {
		t.Run(hosts, func(t *testing.T) {
			t.Parallel()
			r := command(t, binaryTree, "-answer-within", "1h", "-host", hosts, "-rsh",
				script(t, "case $1 in slow) exec sleep 1000;; bad) echo no way >&2; exit 255;; esac\nexport GORUN_HOSTID=$1; shift; exec \"$@\"\n"), "true")
			require.NoError(t, r.Start())
			require.Equal(t, 125, r.wait(t), r.err.String())
			require.Contains(t, r.err.String(), "host bad: it cannot be reached")
			require.NotContains(t, r.err.String(), "host slow")
			gone(t, r)
		})
	}
}

// With -v, gorun shows the text that the remote shell command writes to standard error before the agent has
// started. Without -v, gorun does not show it if the job starts normally.
func TestRemarksOfTheCommandAreShownWhenTheyMatter(t *testing.T) {
	chatty := script(t, "shift; echo 'authorized users only' >&2; exec \"$@\"")
	got := gorun(t, nil, "-host", "a", "-rsh", chatty, "true")
	require.Equal(t, result{}, got, "a banner is not worth a line")
	got = gorun(t, nil, "-v", "-host", "a", "-rsh", chatty, "true")
	require.Contains(t, got.err, "host a: authorized users only")
}

// gorun prints every byte of what the command writes to standard error, also of a long line and of a last line without
// an end.
func TestRemarksAreWhole(t *testing.T) {
	loud := script(t, "shift; \"$@\"; head -c 5000 /dev/zero | tr '\\0' x >&2; printf 'y\\nend' >&2")
	got := gorun(t, nil, "-host", "a", "-rsh", loud, "true")
	require.Zero(t, got.code, got.err)
	lines := strings.Split(strings.TrimSuffix(got.err, "\n"), "\n")
	for i, line := range lines {
		var found bool
		lines[i], found = strings.CutPrefix(line, "gorun: host a: ")
		require.True(t, found, line)
	}
	require.Equal(t, strings.Repeat("x", 5000)+"yend", strings.Join(lines, ""))
}

// If a host does not see the program that gorun has built in TMPDIR, the error suggests another
// TMPDIR.
func TestBuiltProgramThatTheHostDoesNotSee(t *testing.T) {
	// The directory with the program is renamed before the agent starts, so that the host has no
	// such file.
	hide := script(t, "shift; for d in $TMPDIR/gorun-*; do mv $d $TMPDIR/hidden; done; exec \"$@\"")
	r := command(t, []string{"TMPDIR=" + t.TempDir(), "GOFLAGS="}, "-host", "a", "-rsh", hide, ".")
	r.Dir = module(t)
	require.NoError(t, r.Start())
	require.Equal(t, 127, r.wait(t))
	require.Contains(t, r.err.String(), "host a: start ")
	require.Contains(t, r.err.String(), "set TMPDIR")
}

// If gorun is killed, no process and no cgroup of the job is left on other hosts, with each kind of
// containment.
func TestKilledGorunLeavesNothingOnHosts(t *testing.T) {
	for _, contain := range contains {
		t.Run(contain, func(t *testing.T) {
			for range rounds() {
				r, _ := ready(t, 4, "ready", []string{"GORUN_CONTAIN=" + contain}, helper(onHosts(t), "grandchildren"))
				pids := agents(t, r)
				require.GreaterOrEqual(t, len(pids), 2)
				kill9(r.Process.Pid)
				require.Equal(t, 137, r.wait(t))
				gone(t, r)
				for _, pid := range pids {
					awaitNoCgroups(t, pid)
				}
			}
		})
	}
}

// awaitNoCgroups waits until the watchdogs of a killed agent have ended, and checks that they have
// removed its cgroups.
func awaitNoCgroups(t *testing.T, agent int) {
	t.Helper()
	for dogs := watchdogs(agent); len(dogs) > 0; dogs = watchdogs(agent) {
		for _, pid := range dogs {
			await(t, pid)
		}
	}
	require.Empty(t, cgroups(t, agent))
}

// If gorun is killed at a random moment of the start, no process of the job is left.
func TestKilledGorunAtRandomMomentsOfHosts(t *testing.T) {
	for i := range rounds() {
		r := command(t, nil, helper(onHosts(t), "grandchildren")...)
		require.NoError(t, r.Start())
		<-time.After(time.Duration(rand.IntN(40_000)) * time.Microsecond)
		kill9(r.Process.Pid)
		require.Equal(t, 137, r.wait(t), "round %d", i)
		gone(t, r)
	}
}

// If an agent is killed, the job ends with an error that names the lost host and its ranks, and no
// process is left.
func TestKilledAgentEndsTheJob(t *testing.T) {
	for _, contain := range contains {
		t.Run(contain, func(t *testing.T) {
			for range rounds() {
				r, _ := ready(t, 4, "ready", []string{"GORUN_CONTAIN=" + contain}, helper(onHosts(t), "grandchildren"))
				pids := agents(t, r)
				require.GreaterOrEqual(t, len(pids), 2)
				victim := pids[rand.IntN(len(pids))]
				kill9(victim)
				require.Equal(t, 125, r.wait(t), r.err.String())
				require.Regexp(t, `host [ab] is lost with ranks [0-3]-[0-3]: the connection ended`, r.err.String())
				gone(t, r)
				awaitNoCgroups(t, victim)
			}
		})
	}
}

// If a rank on another host is killed, the job ends and the error names the rank. When gorun ends, no process
// of the job is left.
func TestKilledRankOfAHostLeavesNothing(t *testing.T) {
	for range rounds() {
		r, _ := ready(t, 4, "ready", nil, helper(onHosts(t), "grandchildren"))
		pids := agents(t, r)
		require.Len(t, pids, 2)
		ranks := children(t, pids[rand.IntN(2)], helperPrefix)
		require.Len(t, ranks, 2)
		kill9(ranks[rand.IntN(2)])
		require.Equal(t, 137, r.wait(t))
		require.Empty(t, launch.Marked(r.mark))
		require.Regexp(t, `first failure: rank \d \(.*, host [ab], pid \d+\) was killed by SIGKILL`, r.err.String())
	}
}

// With -on-failure continue, the ranks of other hosts go on after the loss of a host, and are notified of the
// loss.
func TestSurvivorsGoOnWithoutAHost(t *testing.T) {
	r, out := ready(t, 4, "ready", nil, helper(onHosts(t, "-on-failure", "continue"), "grandchildren"))
	for _, pid := range agents(t, r) {
		if hostOf(t, pid) == "b" {
			kill9(pid)
		}
	}
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, 125, r.wait(t))
	// Each survivor exits after its first notice.
	for _, rank := range []string{"0", "1"} {
		require.Regexp(t, "rank "+rank+" heard: rank [23] was lost with its host: the connection ended", string(rest))
	}
	require.Contains(t, r.err.String(), "host b is lost with ranks 2-3: ")
	require.Contains(t, r.err.String(), "the others go on")
	gone(t, r)
}

// With -on-failure continue, the loss of a host is no failure if the program has recovered from the losses of all its
// ranks.
func TestHandledLossOfAHost(t *testing.T) {
	for lost, want := range map[int]int{1: 0, 2: 125} { // rank 0 recovers from the loss of one rank
		hosts := fmt.Sprintf("a:2,b:%d", lost)
		r, _ := ready(t, 2+lost, "ready", nil, helper([]string{"-host", hosts, "-rsh", rsh(t), "-on-failure", "continue"}, "grandchildren", "handle"))
		for _, pid := range agents(t, r) {
			if hostOf(t, pid) == "b" {
				kill9(pid)
			}
		}
		require.Equal(t, want, r.wait(t), r.err.String())
		require.Contains(t, r.err.String(), "host b is lost with rank")
		require.Contains(t, r.err.String(), "; the others go on\n")
		require.Equal(t, want != 0, strings.Contains(r.err.String(), "failed"), r.err.String())
		gone(t, r)
	}
}

// hostOf returns the host name that the rsh script has given to a process.
func hostOf(t *testing.T, pid int) string {
	t.Helper()
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(env), "\x00GORUN_HOSTID=")
	name, _, _ := strings.Cut(rest, "\x00")
	return name
}

// A host whose agent sends nothing for some seconds is lost, and the job ends.
func TestSilentHostIsLost(t *testing.T) {
	t.Parallel() // the test waits most of the time
	r, _ := ready(t, 4, "ready", nil, helper(onHosts(t), "grandchildren"))
	pids := agents(t, r)
	require.Len(t, pids, 2)
	// SIGSTOP simulates a halt of the machine: the agent stays stopped until this test continues it.
	require.NoError(t, unix.Kill(pids[0], unix.SIGSTOP))
	require.Equal(t, 125, r.wait(t))
	require.Regexp(t, `host [ab] is lost with ranks .*: it has been silent for 4.75s`, r.err.String())
	gone(t, r)
}

// Agents that receive no frames from gorun for some seconds end their ranks and exit.
func TestSilentGorunIsLost(t *testing.T) {
	t.Parallel() // the test waits most of the time
	r, _ := ready(t, 4, "ready", nil, helper(onHosts(t), "grandchildren"))
	pids := agents(t, r)
	require.Len(t, pids, 2)
	require.NoError(t, unix.Kill(r.Process.Pid, unix.SIGSTOP))
	for _, pid := range pids {
		await(t, pid)
	}
	require.NoError(t, unix.Kill(r.Process.Pid, unix.SIGCONT))
	require.Equal(t, 125, r.wait(t), r.err.String())
	gone(t, r)
}

// A job that is suspended by Ctrl-Z goes on when it is continued.
func TestStoppedJobOfHostsGoesOn(t *testing.T) {
	t.Parallel() // the test waits most of the time
	// After Ctrl-Z, the agents must not declare gorun lost, even if the suspension takes long.
	r, out := ready(t, 2, "ready", nil, append([]string{"-host", "a,b", "-rsh", rsh(t)}, helper(nil, "signals", "SIGTERM")...))
	pids := agents(t, r)
	require.NoError(t, r.Process.Signal(unix.SIGTSTP))
	var status unix.WaitStatus
	for !status.Stopped() {
		_, err := unix.Wait4(r.Process.Pid, &status, unix.WUNTRACED, nil)
		require.NoError(t, err)
	}
	<-time.After(link.Silence + time.Second)
	require.ElementsMatch(t, pids, agents(t, r))
	require.NoError(t, r.Process.Signal(unix.SIGCONT))
	awaitLines(t, out, 2, "SIGCONT")
	require.NoError(t, r.Process.Signal(unix.SIGTERM))
	awaitLines(t, out, 2, "SIGTERM")
	require.Zero(t, r.wait(t), r.err.String())
}
