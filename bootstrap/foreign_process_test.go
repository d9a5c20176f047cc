//go:build !portable

package bootstrap_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// diesEnv is the variable with the rank that exits after the exchange. The other ranks wait for that rank in
// a fence. With a value such as "abort 1", rank 1 aborts the job instead of exiting. With "nobody", all ranks
// wait for a signal.
const diesEnv = "BOOTSTRAP_TEST_DIES"

// together holds the results of processes that have no agent, by rank.
type together struct {
	said []joined
	errs []string
	ends []syscall.WaitStatus
}

// startTogether runs n helper processes with the variables and files of their ranks, and waits for
// all of them.
func startTogether(t *testing.T, n int, env func(rank int) []string, files func(rank int) []*os.File, change ...func(rank int, c *exec.Cmd)) together {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	h := together{said: make([]joined, n), errs: make([]string, n), ends: make([]syscall.WaitStatus, n)}
	var wait sync.WaitGroup
	for rank := range n {
		cmd := exec.Command(exe)
		cmd.Env = append(append(os.Environ(), helperEnv+"=1", "GORACE=atexit_sleep_ms=0"), env(rank)...)
		if files != nil {
			cmd.ExtraFiles = files(rank)
		}
		for _, f := range change {
			f(rank, cmd)
		}
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		require.NoError(t, cmd.Start())
		wait.Add(1)
		go func() {
			defer wait.Done()
			_ = cmd.Wait()
			h.errs[rank] = errs.String()
			h.ends[rank], _ = cmd.ProcessState.Sys().(syscall.WaitStatus)
			_ = json.Unmarshal([]byte(out.String()), &h.said[rank])
		}()
	}
	wait.Wait()
	return h
}

// mpirun returns a function that returns the variables of a rank under Open MPI's mpirun. The ranks meet by a
// file in dir.
func mpirun(dir string, size int) func(rank int) []string {
	return func(rank int) []string {
		return []string{
			fmt.Sprintf("OMPI_COMM_WORLD_RANK=%d", rank), fmt.Sprintf("OMPI_COMM_WORLD_SIZE=%d", size),
			fmt.Sprintf("OMPI_COMM_WORLD_LOCAL_SIZE=%d", size), "PMIX_NAMESPACE=2342846465", bootstrap.EnvRendezvous + "=" + dir,
		}
	}
}

// checkWorld checks that the helper processes have formed one world whose ranks are spread cyclically over
// the nodes.
func checkWorld(t *testing.T, h together, nodes int) {
	t.Helper()
	n := len(h.said)
	for rank, got := range h.said {
		require.Empty(t, got.Err, h.errs[rank])
		require.Empty(t, h.errs[rank])
		require.Equal(t, n, got.Job.Size)
		require.Equal(t, rank, got.Job.Rank)
		require.Equal(t, nodes, got.Job.Nodes)
		require.Equal(t, rank%nodes, got.Job.NodeRank)
		require.Equal(t, rank/nodes, got.Job.LocalRank)
		require.Equal(t, rank, got.Job.Peers[got.Job.LocalRank])
		require.Equal(t, h.said[0].Secret, got.Secret)
		require.Equal(t, h.said[0].Job.ID, got.Job.ID)
		require.Equal(t, int64(got.Job.LocalSize)*got.Job.NodeRange, got.Memory)
		require.Equal(t, n, got.Cards)
	}
	require.NotZero(t, h.said[0].Secret)
}

// Ranks that mpirun has started find each other by a file in a common directory, and remove the
// file.
func TestRanksOfAnotherLauncherMeetByAFile(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		dir := t.TempDir()
		of := mpirun(dir, 6)
		h := startTogether(t, 6, func(rank int) []string {
			return append(of(rank), fmt.Sprintf("%s=node %d", bootstrap.EnvHostID, rank%nodes))
		}, nil)
		checkWorld(t, h, nodes)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, "the place to meet has the secret")
	}
}

// A rank in another PID namespace of the same machine becomes a node of its own, because the ranks
// cannot read each other's memory.
func TestRanksThatDoNotSeeEachOtherAreNodes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a PID namespace needs root")
	}
	h := startTogether(t, 3, mpirun(t.TempDir(), 3), nil, func(rank int, c *exec.Cmd) {
		if rank == 1 {
			c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		}
	})
	for rank, want := range [][]int{{0, 2}, {1}, {0, 2}} {
		require.Empty(t, h.said[rank].Err)
		require.Equal(t, 2, h.said[rank].Job.Nodes)
		require.Equal(t, want, h.said[rank].Job.Peers)
	}
	require.NotEqual(t, h.said[0].Job.Node, h.said[1].Job.Node)
	require.Equal(t, h.said[0].Job.Node, h.said[2].Job.Node)
}

// A process that a rank starts does not join the job of the foreign launcher. It may join another job that
// was started within that job.
func TestChildrenOfARankAreNoRanks(t *testing.T) {
	env := map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "7"}
	getenv := func(name string) string { return env[name] }
	f, found := bootstrap.FindForeign(getenv)
	require.True(t, found)
	env[bootstrap.EnvJoined] = bootstrap.JobOf(f)
	_, found = bootstrap.FindForeign(getenv)
	require.False(t, found)
	env["PMIX_NAMESPACE"] = "8" // the name of another job, started within the first one
	_, found = bootstrap.FindForeign(getenv)
	require.True(t, found)
}

// A job replaces the meeting file that a killed job of the same name has left. If ranks of a job are missing,
// the errors name these ranks. A rank other than rank 0 refuses a meeting file that other users may read.
func TestAFileThatAnEarlierJobLeftIsReplaced(t *testing.T) {
	dir := t.TempDir()
	// Rank 2 is missing, so this job ends with an error and removes its file. A killed job would leave its
	// file. The test writes such a file below.
	of := mpirun(dir, 3)
	// The time is long, so that rank 1 has connected.
	h := startTogether(t, 2, func(rank int) []string { return append(of(rank), bootstrap.EnvAnswer+"=3s") }, nil)
	for rank := range 2 {
		require.Contains(t, h.said[rank].Err, "rank 2 of 3 did not connect to rank 0 in time")
		require.Contains(t, h.said[rank].Err, "mpirun of Open MPI has started")
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, names)
	h = startTogether(t, 1, func(int) []string { return append(of(1), bootstrap.EnvAnswer+"=300ms") }, nil)
	require.Contains(t, h.said[0].Err, "rank 1 could not connect to rank 0 in time")
	require.Contains(t, h.said[0].Err, bootstrap.EnvRendezvous)
	job, found := bootstrap.FindForeign(func(name string) string {
		for _, v := range of(0) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	})
	require.True(t, found)
	stale := filepath.Join(dir, "meeting-"+bootstrap.JobOf(job))
	for _, mode := range []os.FileMode{0o600, 0o644} {
		require.NoError(t, os.WriteFile(stale, []byte(bootstrap.StalePoint()), mode))
		checkWorld(t, startTogether(t, 3, of, nil), 1)
	}
	require.NoError(t, os.WriteFile(stale, []byte(bootstrap.StalePoint()), 0o644))
	h = startTogether(t, 1, func(int) []string { return append(of(1), bootstrap.EnvAnswer+"=300ms") }, nil)
	require.Contains(t, h.said[0].Err, "is not a file of this user alone")
}

// servePMI simulates the PMI launcher of n processes, and returns the processes' ends of the connections. If
// heed returns true for a request, the launcher closes the connection on which the request came.
func servePMI(t *testing.T, n int, heed func(request string) bool) ([]*os.File, *sync.WaitGroup) {
	t.Helper()
	var mu sync.Mutex // guards store and inside
	store, inside, out := map[string]string{}, 0, make(chan struct{})
	serve := func(conn *os.File) {
		in := bufio.NewScanner(conn)
		for in.Scan() {
			fields := map[string]string{}
			for _, w := range strings.Fields(in.Text()) {
				name, value, _ := strings.Cut(w, "=")
				fields[name] = value
			}
			answer := "cmd=finalize_ack"
			switch fields["cmd"] {
			case "init":
				answer = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
			case "get_my_kvsname":
				answer = "cmd=my_kvsname kvsname=k"
			case "put":
				mu.Lock()
				store[fields["key"]] = fields["value"]
				mu.Unlock()
				answer = "cmd=put_result rc=0 msg=success"
			case "barrier_in":
				mu.Lock()
				if inside++; inside == n {
					close(out)
				}
				mu.Unlock()
				<-out
				answer = "cmd=barrier_out"
			case "get":
				mu.Lock()
				answer = "cmd=get_result rc=0 msg=success value=" + store[fields["key"]]
				mu.Unlock()
			}
			over := heed(in.Text()) // before the answer, because an aborting process may exit after the answer
			if _, err := io.WriteString(conn, answer+"\n"); err != nil {
				return
			}
			if over {
				_ = conn.Close()
				return
			}
		}
	}
	theirs := make([]*os.File, n)
	wait := new(sync.WaitGroup)
	t.Cleanup(wait.Wait) // runs after the cleanups that close the connections
	for i := range n {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, unix.SetNonblock(pair[0], true))
		conn := os.NewFile(uintptr(pair[0]), "launcher")
		theirs[i] = os.NewFile(uintptr(pair[1]), "process")
		wait.Add(1)
		go func() { defer wait.Done(); serve(conn) }()
		t.Cleanup(func() { _, _ = theirs[i].Close(), conn.Close() })
	}
	return theirs, wait
}

// Ranks find each other by the key-value store of a launcher with PMI-1.
func TestRanksOfAnotherLauncherMeetByPMI(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		conns, _ := servePMI(t, 4, func(string) bool { return false })
		h := startTogether(t, 4, func(rank int) []string {
			return []string{"PMI_FD=3", fmt.Sprintf("PMI_RANK=%d", rank), "PMI_SIZE=4", fmt.Sprintf("%s=node %d", bootstrap.EnvHostID, rank%nodes)}
		}, func(rank int) []*os.File { return conns[rank : rank+1] })
		checkWorld(t, h, nodes)
	}
}

// Join returns an error that names the cause if it cannot connect by the variables of a foreign launcher.
func TestForeignJobsThatCannotBeJoined(t *testing.T) {
	for name, tc := range map[string]struct {
		env  []string
		want string
	}{
		"PMI_FD is closed":       {[]string{"PMI_FD=9", "PMI_RANK=1", "PMI_SIZE=2"}, "it is no socket"},
		"PMI_FD is no number":    {[]string{"PMI_FD=x", "PMI_RANK=1", "PMI_SIZE=2"}, "it is no socket"},
		"PMI_FD is a file":       {[]string{"PMI_FD=0", "PMI_RANK=1", "PMI_SIZE=2"}, "it is no socket"},
		"PMI_PORT is elsewhere":  {[]string{"PMI_PORT=example.org:1", "PMI_ID=1"}, "name of this machine"},
		"PMI_PORT is closed":     {[]string{"PMI_PORT=127.0.0.1:1", "PMI_ID=1"}, "connection refused (mpiexec has started this process, and has not told its rank)"},
		"no patience":            {append(mpirun(t.TempDir(), 2)(1), bootstrap.EnvAnswer+"=soon"), "want a duration"},
		"no directory":           {mpirun("/proc/nothing", 2)(1), bootstrap.EnvRendezvous},
		"no network of the name": {append(mpirun(t.TempDir(), 2)(0), bootstrap.EnvNet+"=240.0.0.0/8", "OMPI_COMM_WORLD_LOCAL_SIZE=1"), bootstrap.EnvNet},
	} {
		t.Run(name, func(t *testing.T) { require.Contains(t, runRank(t, tc.env).Err, tc.want) })
	}
}

// If a process exits without leaving the job, the job ends: the other ranks get SIGTERM, or report
// a lost agent if the process was rank 0.
func TestRanksOfAnotherLauncherEndTogether(t *testing.T) {
	for victim := range 3 {
		of := mpirun(t.TempDir(), 3)
		h := startTogether(t, 3, func(rank int) []string { return append(of(rank), fmt.Sprintf("%s=%d", diesEnv, victim)) }, nil)
		for rank, end := range h.ends {
			if rank == victim {
				require.Equal(t, 3, end.ExitStatus())
				continue
			}
			told := end.Signaled() && end.Signal() == syscall.SIGTERM
			alone := victim == 0 && strings.Contains(h.said[rank].Err, bootstrap.ErrAgentLost.Error())
			require.True(t, told || alone, "rank %d: %v %+v", rank, end, h.said[rank])
		}
		if victim != 0 {
			require.Contains(t, h.errs[0], fmt.Sprintf("gorun: rank %d (host ", victim))
			require.Contains(t, h.errs[0], "its process ended without leaving the job")
		}
	}
}

// pmi returns a function that returns the variables of a rank under a launcher with PMI-1.
func pmi(size int) func(rank int) []string {
	return func(rank int) []string {
		return []string{"PMI_FD=3", fmt.Sprintf("PMI_RANK=%d", rank), fmt.Sprintf("PMI_SIZE=%d", size)}
	}
}

// An abort ends all ranks and asks the launcher to end its job. This holds for the values kill and continue
// of Job.OnFailure. The output names the rank that has aborted.
func TestARankAbortsTheJobOfAnotherLauncher(t *testing.T) {
	for _, policy := range []string{bootstrap.OnFailureKill, bootstrap.OnFailureContinue} {
		for victim := range 3 {
			aborted := make(chan string, 1)
			conns, served := servePMI(t, 3, func(request string) bool {
				if strings.HasPrefix(request, "cmd=abort") {
					aborted <- request
				}
				return false
			})
			of := pmi(3)
			h := startTogether(t, 3, func(rank int) []string {
				return append(of(rank), fmt.Sprintf("%s=abort %d", diesEnv, victim), bootstrap.EnvOnFailure+"="+policy)
			}, func(rank int) []*os.File { return conns[rank : rank+1] })
			for _, c := range conns {
				require.NoError(t, c.Close()) // when all connections are closed, the launcher has read all requests
			}
			served.Wait()
			require.Len(t, aborted, 1, "the launcher is told")
			require.Equal(t, "cmd=abort exitcode=3", <-aborted)
			require.Contains(t, h.errs[victim], fmt.Sprintf("gorun: rank %d aborts the job with code 3: test\n", victim))
			require.NotContains(t, strings.Join(h.errs, ""), "is lost")
			for rank, end := range h.ends {
				if rank == victim {
					require.Equal(t, 3, end.ExitStatus())
					continue
				}
				told := end.Signaled() && end.Signal() == syscall.SIGTERM
				alone := strings.Contains(h.said[rank].Err, bootstrap.ErrAgentLost.Error())
				require.True(t, told || alone, "rank %d: %v %+v", rank, end, h.said[rank])
			}
		}
	}
}

// The ranks get SIGTERM when the launcher closes its PMI connections.
func TestRanksEndWithTheirLauncher(t *testing.T) {
	conns, _ := servePMI(t, 2, func(request string) bool { return strings.HasPrefix(request, "cmd=get ") })
	of := pmi(2)
	h := startTogether(t, 2, func(rank int) []string {
		return append(of(rank), diesEnv+"=nobody")
	}, func(rank int) []*os.File { return conns[rank : rank+1] })
	for rank, end := range h.ends {
		require.True(t, end.Signaled() && end.Signal() == syscall.SIGTERM, "rank %d: %v %+v %s", rank, end, h.said[rank], h.errs[rank])
	}
}

// Under a launcher without a PMI connection, the ranks end when their parent process ends.
func TestRanksEndWithTheirParent(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	of := mpirun(t.TempDir(), 2)
	// The shell simulates the launcher.
	parent := exec.Command("sh", "-c", `OMPI_COMM_WORLD_RANK=0 "$0" & OMPI_COMM_WORLD_RANK=1 "$0" & wait`, exe)
	parent.Env = append(append(os.Environ(), helperEnv+"=1", "GORACE=atexit_sleep_ms=0", diesEnv+"=nobody"), of(0)[1:]...)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	errs, err := parent.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	in := bufio.NewReader(errs)
	for range 2 {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "met\n", line)
	}
	require.NoError(t, parent.Process.Kill())
	rest, err := io.ReadAll(in) // until both ranks have ended; one rank may end because of the end of rank 0
	require.NoError(t, err)
	require.Contains(t, string(rest), "gorun: the launcher of this rank is gone\n")
	said, err := io.ReadAll(out) // until both ranks have ended
	require.NoError(t, err)
	require.Empty(t, said, "nothing but a signal has ended them")
	require.Error(t, parent.Wait())
}
