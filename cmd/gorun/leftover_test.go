package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// contains are the kinds of containment. Each kind must end all processes of a job. If this user may not make
// cgroups, probeContains removes the first kind and sets noCgroup to the reason. Tests that request no kind
// then use scan, the last kind, which starts no second gorun.
var (
	contains = []string{"cgroup", "namespace", "scan"}
	noCgroup string
)

// probeContains removes cgroup from contains if this user may not make cgroups here.
func probeContains() {
	probe := exec.Command(binary, "-np", "1", "true")
	probe.Env = append(os.Environ(), "GORUN_CONTAIN=cgroup")
	if out, err := probe.CombinedOutput(); err != nil {
		contains, noCgroup = contains[1:], strings.TrimSpace(string(out))
		if err := os.Setenv("GORUN_CONTAIN", "scan"); err != nil {
			panic(err)
		}
	}
}

// If cgroups cannot be used, gorun prints the reason.
func TestCgroups(t *testing.T) {
	if noCgroup == "" {
		return
	}
	require.Regexp(t, "gorun cannot move processes in cgroup .*: |no cgroup v2|no writable cgroup v2 ", noCgroup)
	t.Skip(noCgroup)
}

func itoa(n int) string { return strconv.Itoa(n) }

// rounds returns the number of repetitions of a randomized test.
func rounds() int {
	switch {
	case soak:
		return 100
	case raceEnabled: // the race detector delays the end of each watchdog by a second
		return 2
	default:
		return 10
	}
}

// cgroups returns the cgroups of the jobs of a gorun.
func cgroups(t *testing.T, pid int) []string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(mounts)) {
		if !strings.Contains(line, " - cgroup2 ") {
			continue
		}
		require.NoError(t, filepath.WalkDir(strings.Fields(line)[4], func(path string, _ os.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(filepath.Base(path), fmt.Sprintf("gorun-%d-", pid)) {
				found = append(found, path)
			}
			return nil // cgroups of other jobs may disappear at any time
		}))
	}
	return found
}

// scratch returns the temporary directories of builds below a directory.
func scratch(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "gorun-*"))
	require.NoError(t, err)
	return slices.DeleteFunc(found, func(path string) bool { return path == sockets(dir) })
}

// buildable makes a Go program that starts two sleeping children, one of them in another session,
// and sleeps.
func buildable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module leaver\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(`package main

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	for _, own := range []bool{true, false} {
		c := exec.Command("sleep", "1000")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
		if err := c.Start(); err != nil {
			panic(err)
		}
	}
	fmt.Println("ready")
	time.Sleep(time.Hour) // select {} alone would be a deadlock
}
`), 0o644))
	return dir
}

// If gorun is killed, no process, cgroup or file of its job is left, with each kind of containment.
func TestKilledGorunLeavesNothing(t *testing.T) {
	program := buildable(t)
	for _, contain := range contains {
		t.Run(contain, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			r, _ := ready(t, 3, "ready", []string{"GORUN_CONTAIN=" + contain, "TMPDIR=" + tmp}, []string{"-np", "3", program})
			require.GreaterOrEqual(t, len(launch.Marked(r.mark)), 4, "gorun, 3 ranks and more")
			require.Len(t, scratch(t, tmp), 1)
			require.Len(t, watchdogs(r.Process.Pid), 1)
			kill9(r.Process.Pid)
			require.Equal(t, 137, r.wait(t))
			nothingLeft(t, r)
			require.Empty(t, scratch(t, tmp))
		})
	}
}

// watchdogs returns the process IDs of a gorun's watchdogs. The name of the job is in their arguments.
func watchdogs(gorun int) []int {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		panic(err)
	}
	var found []int
	for _, n := range names {
		pid, err := strconv.Atoi(filepath.Base(n))
		if err != nil {
			continue
		}
		line := commandLine(pid)
		if strings.HasPrefix(line, "gorun -gorun-watchdog ") &&
			(strings.Contains(line, fmt.Sprintf("gorun-%d-", gorun)) || strings.Contains(line, fmt.Sprintf("-job %d-", gorun))) {
			found = append(found, pid)
		}
	}
	return found
}

// nothingLeft waits until no process of a killed gorun is left, and checks that no cgroup is left.
func nothingLeft(t *testing.T, r *run) {
	t.Helper()
	for {
		pids := append(watchdogs(r.Process.Pid), launch.Marked(r.mark)...)
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			await(t, pid)
		}
	}
	require.Empty(t, cgroups(t, r.Process.Pid))
}

// If gorun is killed at a random moment of the start, no process or cgroup of the job is left.
func TestKilledGorunAtRandomMoments(t *testing.T) {
	for _, contain := range contains {
		t.Run(contain, func(t *testing.T) {
			for i := range rounds() {
				r := command(t, []string{"GORUN_CONTAIN=" + contain}, helper([]string{"-np", "4"}, "grandchildren")...)
				require.NoError(t, r.Start())
				<-time.After(time.Duration(rand.IntN(30_000)) * time.Microsecond)
				kill9(r.Process.Pid)
				require.Equal(t, 137, r.wait(t), "round %d", i)
				nothingLeft(t, r)
			}
		})
	}
}

// The gorun inside a namespace also ends if the outer gorun is killed before the inner gorun has requested
// its parent death signal.
func TestInsideEndsWithoutItsDeathSignal(t *testing.T) {
	ends, alive, err := os.Pipe()
	require.NoError(t, err)
	r := command(t, nil, helper([]string{"-gorun-inside", t.TempDir(), "-np", "1"}, "grandchildren")...)
	r.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	r.ExtraFiles = []*os.File{ends}
	err = r.Start()
	require.NoError(t, errors.Join(ends.Close(), alive.Close()))
	if errors.Is(err, unix.EPERM) {
		t.Skip("no right to make a PID namespace")
	}
	require.NoError(t, err)
	require.Equal(t, 137, r.wait(t))
	nothingLeft(t, r)
}

// If a rank is killed, gorun ends the job, and no process or cgroup is left when gorun exits.
func TestKilledRanksLeaveNothing(t *testing.T) {
	for _, contain := range contains {
		t.Run(contain, func(t *testing.T) {
			for range rounds() {
				r, _ := ready(t, 4, "ready", []string{"GORUN_CONTAIN=" + contain}, helper([]string{"-np", "4"}, "grandchildren"))
				ranks := descendants(t, r.Process.Pid, helperPrefix)
				require.Len(t, ranks, 4)
				victim := ranks[rand.IntN(len(ranks))]
				kill9(victim)
				require.Equal(t, 137, r.wait(t))
				require.Empty(t, launch.Marked(r.mark))
				require.Empty(t, cgroups(t, r.Process.Pid))
				require.Contains(t, r.err.String(), "was killed by SIGKILL")
			}
		})
	}
}

// descendants returns the child processes of a gorun, or of the gorun inside its namespace, that
// have a word in their command line.
func descendants(t *testing.T, pid int, word string) []int {
	t.Helper()
	if inner := children(t, pid, "-gorun-inside"); len(inner) == 1 {
		pid = inner[0]
	}
	return children(t, pid, word)
}

// After the normal end of a job, no process that a rank has left in the background survives.
func TestNormalEndLeavesNothing(t *testing.T) {
	for _, contain := range contains {
		// env -i removes the mark from the environment of the first grandchild, so that a search by
		// environment does not find this grandchild. Its end shows only in the removal of the
		// cgroup. The printed process ID is that of the second grandchild.
		r := command(t, []string{"GORUN_CONTAIN=" + contain}, "-np", "3", "sh", "-c",
			"env -i setsid sleep 1000 & setsid sleep 1000 & echo $!; exit 0")
		require.NoError(t, r.Start())
		require.Zero(t, r.wait(t))
		require.Empty(t, launch.Marked(r.mark))
		require.Empty(t, cgroups(t, r.Process.Pid))
		for f := range strings.FieldsSeq(r.out.String()) {
			pid, err := strconv.Atoi(f)
			require.NoError(t, err)
			if contain != "namespace" { // in a namespace, the process IDs would be those of the namespace
				await(t, pid) // it may be a zombie that init has not reaped yet
			}
		}
	}
}

// gorun kills the process group of a rank before it reports the end of the rank to the other ranks.
func TestRankThatDiesTakesItsGroupFirst(t *testing.T) {
	// The survivor stays after the notice, so that the job does not end and its end does not kill the
	// processes.
	r, out := ready(t, 2, "ready", nil, helper([]string{"-np", "2", "-on-failure", "continue"}, "grandchildren", "stay"))
	ranks := children(t, r.Process.Pid, helperPrefix)
	require.Len(t, ranks, 2)
	group, err := unix.Getpgid(ranks[0])
	require.NoError(t, err)
	require.Equal(t, ranks[0], group)
	kill9(ranks[0])
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "was killed by SIGKILL")
	for _, pid := range launch.Marked(r.mark) {
		if g, err := unix.Getpgid(pid); err == nil && g == group {
			await(t, pid) // a killed process takes a moment to end
		}
	}
	kill9(ranks[1])
	require.Equal(t, 137, r.wait(t))
}

// gorun names processes by the IDs that /proc and other programs show, also if it runs in a PID namespace. In
// -report, the command is the one that the user has given.
func TestProcessIDsAreThoseOfProc(t *testing.T) {
	for _, contain := range contains {
		name := filepath.Join(t.TempDir(), "report.json")
		args := []string{"-np", "2", "-prefix", "%p ", "-v", "-report", name, "readlink", "/proc/self"}
		r := command(t, []string{"GORUN_CONTAIN=" + contain}, args...)
		require.NoError(t, r.Start())
		require.Zero(t, r.wait(t), r.err.String())
		var report struct {
			Command []string
			Ranks   []struct{ PID int }
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &report))
		require.Equal(t, args, report.Command[1:], contain)
		lines := strings.Split(strings.TrimSpace(r.out.String()), "\n")
		require.Len(t, lines, 2)
		for rank, one := range report.Ranks {
			pid := itoa(one.PID)
			require.Contains(t, lines, pid+" "+pid, contain)
			require.Contains(t, r.err.String(), fmt.Sprintf("rank %d is process %s: ", rank, pid))
		}
	}
}

// gorun recognizes a stopped rank with each containment.
func TestStoppedRankIsNamed(t *testing.T) {
	for _, contain := range contains {
		t.Run(contain, func(t *testing.T) {
			t.Parallel()
			r := command(t, []string{"GORUN_CONTAIN=" + contain}, helper([]string{"-np", "1", "-timeout", "5s"}, "stopped", "0")...)
			require.NoError(t, r.Start())
			require.Equal(t, 124, r.wait(t))
			require.Contains(t, r.err.String(), "gorun: rank 0 did not answer: rank 0 is stopped by a signal: kill -CONT ")
		})
	}
}
