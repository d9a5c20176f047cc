package main_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// rsh makes a command that runs other commands on this machine, as if this machine were the given host. Hosts
// with different names are different nodes. Only the hosts whose names begin with "same" are one node.
func rsh(t *testing.T) string {
	t.Helper()
	return script(t, "h=$1; shift\nexport SSH_TTY=$h\ncase $h in same*) ;; *) export GORUN_HOSTID=$h ;; esac\nexec \"$@\"\n")
}

// script makes an executable shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755))
	return name
}

// onHosts returns the flags for two hosts with two ranks each.
func onHosts(t *testing.T, flags ...string) []string {
	t.Helper()
	return append([]string{"-host", "a:2,b:2", "-rsh", rsh(t)}, flags...)
}

// Ranks on other hosts get their identity, gorun's environment and working directory, and the variables that the host
// itself sets.
func TestHostsRunRanks(t *testing.T) {
	for _, contain := range contains {
		r := command(t, []string{"GORUN_CONTAIN=" + contain, "FOO=b a\tr", "SSH_TTY=here"}, append(onHosts(t, "-x", "NEW=new"), "sh", "-c",
			`echo $GORUN_RANK/$GORUN_SIZE $GORUN_LOCAL_RANK/$GORUN_LOCAL_SIZE $GORUN_NODE_RANK/$GORUN_NODES $GORUN_HOST "$FOO" $NEW $SSH_TTY $GORUN_FDS $PWD`)...)
		r.Dir = t.TempDir()
		require.NoError(t, r.Start())
		require.Zero(t, r.wait(t), r.err.String())
		require.Empty(t, r.err.String())
		require.ElementsMatch(t, []string{
			"0/4 0/2 0/2 a b a\tr new a 3,4,5 " + r.Dir, "1/4 1/2 0/2 a b a\tr new a 3,4,5 " + r.Dir,
			"2/4 0/2 1/2 b b a\tr new b 3,4,5 " + r.Dir, "3/4 1/2 1/2 b b a\tr new b 3,4,5 " + r.Dir,
		}, strings.Split(strings.TrimSpace(r.out.String()), "\n"))
		require.Empty(t, cgroups(t, r.Process.Pid))
	}
}

// Ranks on several hosts exchange cards. A card has the host, slot and node of its rank.
func TestRanksOfHostsJoinOneWorld(t *testing.T) {
	got := gorun(t, nil, helper(onHosts(t, "-l"), "book")...)
	require.Zero(t, got.code, got.err)
	for rank := range 4 {
		require.Contains(t, got.out, fmt.Sprintf("[%d] a0=0 a1=0 b0=1 b1=1\n", rank), "host, slot and node of every card")
	}
}

// More ranks than the hosts have slots form one world.
func TestManyRanksOnManyHosts(t *testing.T) {
	var list []string
	for i := range 8 {
		list = append(list, fmt.Sprintf("n%d:4", i))
	}
	got := gorun(t, nil, helper([]string{"-host", strings.Join(list, ","), "-rsh", rsh(t), "-np", "40"}, "join")...)
	require.Zero(t, got.code, got.err)
	require.Equal(t, 40, strings.Count(got.out, " of 40\n"))
}

// If two host names are the same node, one agent runs the ranks of both, and these ranks are local to each other.
func TestHostsOfOneNodeShareAnAgent(t *testing.T) {
	for _, contain := range contains {
		if contain == "namespace" && os.Geteuid() != 0 {
			continue // without root, each agent has its own user namespace and cannot see other agents' processes
		}
		r := command(t, []string{"GORUN_CONTAIN=" + contain}, "-host", "same1,a,same2:2", "-rsh", rsh(t), "-v", "-prefix", "%r %h %l ",
			"sh", "-c", "echo $GORUN_LOCAL_RANK/$GORUN_LOCAL_SIZE $GORUN_NODE_RANK/$GORUN_NODES")
		require.NoError(t, r.Start())
		require.Zero(t, r.wait(t), r.err.String())
		require.Contains(t, r.err.String(), "host same2 is host same1: one agent runs the ranks of both")
		require.ElementsMatch(t, []string{"0 same1 0 0/3 0/2", "1 a 0 0/1 1/2", "2 same2 1 1/3 0/2", "3 same2 2 2/3 0/2"},
			strings.Split(strings.TrimSpace(r.out.String()), "\n"))
	}
}

// Ranks on localhost, or on a host with this machine's name, start without the remote shell.
func TestThisMachineNeedsNoRsh(t *testing.T) {
	own, err := os.Hostname()
	require.NoError(t, err)
	got := gorun(t, nil, "-host", "localhost:1,"+own+":2", "sh", "-c", "echo $GORUN_RANK $GORUN_NODES")
	require.Zero(t, got.code, got.err)
	require.ElementsMatch(t, []string{"0 1", "1 1", "2 1"}, strings.Split(strings.TrimSpace(got.out), "\n"))
}

// -hostfile names the hosts. -net and -transport reach the ranks. gorun refuses -transport shm for hosts that are
// different nodes.
func TestHostFileAndNetworkFlags(t *testing.T) {
	name := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(name, []byte("a slots=1\nb:1\n"), 0o644))
	for _, args := range [][]string{
		{"-hostfile", name, "-rsh", rsh(t)},
		{"-np", "2"},
	} {
		args = append(args, "-net", "10.0.0.0/8", "-transport", "rdma", "sh", "-c", "echo $GORUN_NET $GORUN_TRANSPORT")
		got := gorun(t, nil, args...)
		require.Zero(t, got.code, got.err)
		require.Equal(t, strings.Repeat("10.0.0.0/8 rdma\n", 2), got.out)
	}
	got := gorun(t, nil, append(onHosts(t, "-transport", "shm"), "true")...)
	require.Equal(t, 125, got.code)
	require.Contains(t, got.err, "hosts a and b are different nodes")
}

// The output of ranks on other hosts arrives unchanged in files and on standard output, with labels and merged streams
// as on one machine.
func TestOutputOfHostsIsByteExact(t *testing.T) {
	data := noise(7, 1<<20+17)
	name := file(t, data).Name()
	dir := t.TempDir()
	got := gorun(t, nil, append(onHosts(t, "-output-dir", dir), "sh", "-c", "cat "+name+"; cat "+name+" >&2")...)
	require.Zero(t, got.code, got.err)
	for rank := range 4 {
		for _, which := range []string{"out", "err"} {
			b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("rank.%d.%s", rank, which)))
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, b), "rank %d %s: %d bytes", rank, which, len(b))
		}
	}
	got = gorun(t, nil, "-host", "a", "-rsh", rsh(t), "cat", name)
	require.Equal(t, string(data), got.out)
	got = gorun(t, nil, append(onHosts(t, "-l", "-merge-stderr"), "sh", "-c", "echo out; echo err >&2; printf half")...)
	require.Empty(t, got.err)
	for rank := range 4 {
		require.Contains(t, got.out, fmt.Sprintf("[%d] out\n", rank))
		require.Contains(t, got.out, fmt.Sprintf("[%d] err\n", rank))
		require.Contains(t, got.out, fmt.Sprintf("[%d] half\n", rank))
	}
}

// If standard output is read only after the ranks have begun to write, no output of ranks on other hosts is lost.
func TestSlowReaderOfHostsLosesNothing(t *testing.T) {
	r := command(t, nil, "-host", "a,b", "-rsh", rsh(t), "sh", "-c", "seq 200000")
	r.Stdout = nil
	out, err := r.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, r.Start())
	_, err = out.Read(make([]byte, 1)) // waits until a rank writes
	require.NoError(t, err)
	var all bytes.Buffer
	_, err = all.ReadFrom(out)
	require.NoError(t, err)
	require.Zero(t, r.wait(t), r.err.String())
	require.Equal(t, 2*200000, bytes.Count(all.Bytes(), []byte("\n")))
}

// If standard output is not read at all, the fences of the ranks still complete, and signals still reach the ranks.
func TestUnreadOutputStallsNothingElse(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	said, err := os.OpenFile(pipe, os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, said.Close()) }()
	r := command(t, nil, helper(onHosts(t), "flood", pipe)...)
	r.Stdout = nil
	_, err = r.StdoutPipe() // the pipe is never read
	require.NoError(t, err)
	require.NoError(t, r.Start())
	awaitLines(t, bufio.NewReader(said), 4, "fenced")
	require.NoError(t, r.Process.Signal(unix.SIGTERM)) // the signal uses the same connection to the ranks
	for _, agent := range agents(t, r) {
		for _, rank := range children(t, agent, helperPrefix) {
			await(t, rank)
		}
	}
	kill9(r.Process.Pid)
	require.Equal(t, 137, r.wait(t))
	gone(t, r)
}

// Standard input reaches the ranks that -stdin selects, unchanged, and reaches no other ranks.
func TestStdinOfHostsIsByteExact(t *testing.T) {
	for _, size := range []int{0, 1, 1<<20 + 3} {
		data := noise(uint64(size), size)
		for mode, feeds := range map[string]func(rank int) bool{
			"0":    func(rank int) bool { return rank == 0 },
			"2":    func(rank int) bool { return rank == 2 },
			"all":  func(int) bool { return true },
			"none": func(int) bool { return false },
		} {
			for rank, b := range copyInput(t, bytes.NewReader(data), 4, onHosts(t, "-stdin", mode)...) {
				want := []byte{}
				if feeds(rank) {
					want = data
				}
				require.True(t, bytes.Equal(want, b), "%d bytes with %s to rank %d: %d", size, mode, rank, len(b))
			}
		}
	}
	// A rank that does not read its input does not delay the others.
	got := gorun(t, bytes.NewReader(noise(3, 4<<20)), append(onHosts(t, "-stdin", "all"), "sh", "-c",
		"if [ $GORUN_RANK = 2 ]; then exec <&-; echo done; else wc -c; fi")...)
	require.Zero(t, got.code, got.err)
	require.ElementsMatch(t, []string{"4194304", "4194304", "4194304", "done"}, strings.Fields(got.out))
}

// Ranks on other hosts cause the same exit codes and messages as ranks on one machine. The messages also name the host.
func TestExitCodesOfHosts(t *testing.T) {
	victim := func(action string) []string {
		return []string{"sh", "-c", `if [ $GORUN_RANK = 3 ]; then ` + action + `; fi; exec sleep 1000`}
	}
	for name, c := range map[string]struct {
		args []string
		code int
		err  []string
	}{
		"all well":    {[]string{"true"}, 0, nil},
		"fails":       {victim("echo reason >&2; exit 7"), 7, []string{"first failure: rank 3 (sh, host b, pid ", "exited with code 7", "  | reason"}},
		"is killed":   {victim("kill -SEGV $$"), 139, []string{"rank 3 (sh, host b", "SIGSEGV"}},
		"timeout":     {[]string{"-timeout", "0.2", "sleep", "1000"}, 124, []string{"no rank has joined"}},
		"dump":        {helper([]string{"-timeout", "5"}, "wait"), 124, []string{"rank 0: blocked in Recv", "rank 3: blocked in Recv"}},
		"aborts":      {helper(nil, "abort", "2"), 9, []string{"first failure: rank 2 ", "host b", "aborted the job with code 9: ran out of work", "  | no more work"}},
		"left":        {helper(nil, "leave", "3"), 1, []string{"first failure: rank 3 ", "without leaving the job"}},
		"nonsense":    {helper(nil, "garbage", "2"), 125, []string{"rank 2 ", "broke the protocol"}},
		"not there":   {[]string{"./no-such-program"}, 127, []string{"no such file"}},
		"directory":   {[]string{"-wdir", "/no/such", "true"}, 125, []string{"host a: there is no directory /no/such on this host", "host b: "}},
		"last starts": {[]string{"-host", "c", "-np", "5", "true"}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gorun(t, nil, append(onHosts(t), c.args...)...)
			require.Equal(t, c.code, got.code, got.err)
			for _, want := range c.err {
				require.Contains(t, got.err, want)
			}
			if c.code == 0 {
				require.Empty(t, got.err)
			}
			require.LessOrEqual(t, strings.Count(got.err, "first failure"), 1)
		})
	}
}

// With -on-failure continue, the ranks on all hosts get the notice of a loss.
func TestContinueTellsTheSurvivorsOnOtherHosts(t *testing.T) {
	got := gorun(t, nil, helper(onHosts(t, "-on-failure", "continue"), "die", "2", "9")...)
	require.Equal(t, 137, got.code)
	for _, rank := range []string{"0", "1", "3"} {
		require.Contains(t, got.out, "rank "+rank+" heard: rank 2 was killed by SIGKILL (signal 9, killed)\n")
	}
	require.Contains(t, got.err, "rank 2 (host b, pid ")
	require.Contains(t, got.err, "first failure: rank 2 ")
}

// Signals to gorun reach the ranks on all hosts.
func TestSignalsReachOtherHosts(t *testing.T) {
	r, out := ready(t, 4, "ready", nil, helper(onHosts(t), "signals", "SIGTERM"))
	for _, sig := range []unix.Signal{unix.SIGUSR1, unix.SIGUSR2, unix.SIGTERM} {
		require.NoError(t, r.Process.Signal(sig))
		awaitLines(t, out, 4, unix.SignalName(sig))
		if sig == unix.SIGTERM {
			break
		}
	}
	require.Zero(t, r.wait(t), r.err.String())
}

// If ranks on other hosts ignore an interrupt, gorun ends them after the grace period.
func TestInterruptOfHosts(t *testing.T) {
	r, _ := ready(t, 4, "ready", nil, append(onHosts(t, "-grace", "0.2"), "sh", "-c", "trap '' INT; echo ready; while :; do sleep 1; done"))
	require.NoError(t, r.Process.Signal(unix.SIGINT))
	require.Equal(t, 130, r.wait(t))
	require.Contains(t, r.err.String(), "interrupted by SIGINT")
}

// The report and -report-bindings have the host and the processors of each rank, and two agents on one machine bind
// their ranks to different processors.
func TestReportNamesTheHosts(t *testing.T) {
	launch.Processors(t)
	if len(allowedProcessors(t)) < 2 {
		t.Skip("one processor: the ranks of two hosts cannot be bound on it")
	}
	name := filepath.Join(t.TempDir(), "r.json")
	got := gorun(t, nil, "-host", "a,b", "-rsh", rsh(t), "-report", name, "-report-bindings", "-bind-to", "core", "sh", "-c", "exit $GORUN_NODE_RANK")
	require.Equal(t, 1, got.code, got.err)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var report struct {
		Ranks []struct {
			Rank       int
			Host       string
			PID        int
			Processors string
		}
	}
	require.NoError(t, json.Unmarshal(text, &report))
	require.Len(t, report.Ranks, 2)
	require.NotEqual(t, report.Ranks[0].Processors, report.Ranks[1].Processors, "both hosts are this machine")
	for i, r := range report.Ranks {
		require.Equal(t, i, r.Rank)
		require.Equal(t, []string{"a", "b"}[i], r.Host)
		require.Positive(t, r.PID)
		require.NotEmpty(t, r.Processors)
		require.Contains(t, got.err, fmt.Sprintf("rank %d is bound to processor %s on %s", i, r.Processors, r.Host))
	}
}

// All ranks have the same job secret. No process of the job has it in an argument or in its environment.
func TestNothingSecretIsInArgumentsOrEnvironment(t *testing.T) {
	dir := t.TempDir()
	r, _ := ready(t, 2, "ready", nil, helper([]string{"-host", "a,b", "-rsh", rsh(t)}, "secret", dir))
	var secrets [2][]byte
	for rank := range secrets {
		var err error
		secrets[rank], err = os.ReadFile(filepath.Join(dir, fmt.Sprint(rank)))
		require.NoError(t, err)
	}
	require.Equal(t, secrets[0], secrets[1], "one secret for all hosts")
	require.NotEqual(t, make([]byte, 32), secrets[0])
	for _, pid := range launch.Marked(r.mark) {
		for _, place := range []string{"cmdline", "environ"} {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, place))
			require.NoError(t, err)
			for _, form := range []string{string(secrets[0][:8]), hex.EncodeToString(secrets[0][:8]), base64.StdEncoding.EncodeToString(secrets[0][:6])} {
				require.NotContains(t, string(b), form)
			}
		}
	}
	kill9(r.Process.Pid)
	require.Equal(t, 137, r.wait(t))
	gone(t, r)
}

// gone waits until no process of a run is left.
func gone(t *testing.T, r *run) {
	t.Helper()
	for pids := launch.Marked(r.mark); len(pids) > 0; pids = launch.Marked(r.mark) {
		for _, pid := range pids {
			await(t, pid)
		}
	}
}

// If the output of gorun is not read, an interrupt after the end of the ranks ends gorun.
func TestInterruptEndsTheWaitForAReaderOfHosts(t *testing.T) {
	r := command(t, nil, append(onHosts(t), "sh", "-c", "echo ready >&2; exec seq 100000000")...)
	r.Stdout = nil
	out, err := r.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, r.Start())
	_, err = out.Read(make([]byte, 1)) // reads one byte and no more
	require.NoError(t, err)
	var ranks []int
	for _, agent := range agents(t, r) {
		ranks = append(ranks, children(t, agent, "seq")...)
	}
	require.NoError(t, r.Process.Signal(unix.SIGINT))
	for _, rank := range ranks {
		await(t, rank)
	}
	for r.ProcessState == nil && unix.Kill(r.Process.Pid, 0) == nil {
		// An interrupt that comes before gorun has seen the end of the ranks may count as a request to end
		// them. The test therefore repeats it.
		_ = r.Process.Signal(unix.SIGINT)
		if waited(t, r) {
			break
		}
	}
	gone(t, r)
}

// waited waits up to 20 ms for the end of a run, and reports whether it ended.
func waited(t *testing.T, r *run) bool {
	t.Helper()
	fd, err := unix.PidfdOpen(r.Process.Pid, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20)
	if err == unix.EINTR || n == 0 {
		return false
	}
	require.NoError(t, err)
	require.Equal(t, 130, r.wait(t), r.err.String())
	return true
}
