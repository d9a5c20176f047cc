package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/slurm"
)

// launchers are command lines of other launchers, each of which starts a program as four processes.
var launchers = []struct {
	name    string
	command []string
}{
	{"MPICH", []string{"mpiexec.hydra", "-n", "4"}},
	{"MPICH, by a port", []string{"mpiexec.hydra", "-pmi-port", "-n", "4"}},
	{"Open MPI", []string{"mpirun.openmpi", "--mca", "oob_tcp_if_include", "lo", "--oversubscribe", "-np", "4"}},
}

// abroad runs a program under another launcher and waits for its end.
func abroad(t *testing.T, launcher []string, program ...string) result {
	t.Helper()
	r := startAbroad(t, launcher, program...)
	require.NoError(t, r.Start())
	code := r.wait(t)
	return result{code: code, out: r.out.String(), err: r.err.String()}
}

// startAbroad prepares a run under another launcher. It skips the test if that launcher is not installed.
func startAbroad(t *testing.T, launcher []string, program ...string) *run {
	t.Helper()
	if _, err := exec.LookPath(launcher[0]); err != nil {
		t.Skipf("needs %s (apt-get install mpich openmpi-bin)", launcher[0])
	}
	r := command(t, []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "GORUN_RENDEZVOUS=" + t.TempDir()})
	path, err := exec.LookPath(launcher[0])
	require.NoError(t, err)
	r.Path, r.Args = path, slices.Concat(launcher, program)
	return r
}

// Processes that mpiexec or mpirun has started form one world. If a rank is killed or aborts, the job ends
// with an error. gorun refuses to run as one of several processes of another launcher.
func TestOtherLaunchersMakeAWorld(t *testing.T) {
	own, err := os.Hostname()
	require.NoError(t, err)
	for _, l := range launchers {
		t.Run(l.name, func(t *testing.T) {
			got := abroad(t, l.command, helper(nil, "book")...)
			require.Zero(t, got.code, got.err)
			line := fmt.Sprintf("%[1]s0=0 %[1]s1=0 %[1]s2=0 %[1]s3=0\n", own)
			require.Equal(t, strings.Repeat(line, 4), got.out, got.err)
			got = abroad(t, l.command, helper(nil, "die", "2", "9")...)
			require.NotZero(t, got.code, "a rank that is killed ends the job")
			got = abroad(t, l.command, helper(nil, "abort", "2")...)
			require.NotZero(t, got.code, "the rank's words may be lost: MPICH's proxy exits at once when it is told of an abort")
			for range 5 { // these words, too, may be lost
				got = abroad(t, l.command, binary, "true")
				require.NotZero(t, got.code)
				if got.err != "" {
					break
				}
			}
			require.Contains(t, got.err, "has started gorun 4 times")
		})
	}
}

// The ranks end when their launcher is killed, even under Open MPI, whose ranks have no connection
// to mpirun.
func TestRanksEndWithAKilledLauncher(t *testing.T) {
	for _, l := range launchers {
		t.Run(l.name, func(t *testing.T) {
			r := startAbroad(t, l.command, helper(nil, "listen")...)
			out := r.lines(t)
			require.NoError(t, r.Start())
			awaitLines(t, out, 4, "waiting")
			kill9(r.Process.Pid)
			_ = rest(out) // reads until no rank has the pipe open any more
			require.Equal(t, 137, r.wait(t))
			for _, pid := range launch.Marked(r.mark) { // it may take a moment until they are reaped
				await(t, pid)
			}
		})
	}
}

// TestStepsOfSlurmMakeAWorld checks that ranks which srun starts on hosts without common memory form one
// world. It tests different distributions of the ranks, and two steps at the same time.
func TestStepsOfSlurmMakeAWorld(t *testing.T) {
	c := slurm.Start(t, 3)
	for _, mpi := range []string{"none", "pmi2"} {
		t.Run(mpi, func(t *testing.T) {
			step := []string{"srun", "--mpi=" + mpi, "-N3", "-n5", "--distribution=block", "env", "GORUN_RENDEZVOUS=" + t.TempDir()}
			got := inSlurm(t, c, slices.Concat(step, helper(nil, "book"))...)
			require.Zero(t, got.code, got.err)
			require.Equal(t, strings.Repeat("h00=0 h01=0 h02=0 h10=1 h20=2\n", 5), got.out, got.err)
			step[4] = "--distribution=cyclic"
			got = inSlurm(t, c, slices.Concat(step, helper(nil, "book"))...)
			require.Zero(t, got.code, got.err)
			require.Equal(t, strings.Repeat("h00=0 h10=1 h20=2 h01=0 h02=0\n", 5), got.out, got.err)
			got = inSlurm(t, c, slices.Concat(step, helper(nil, "die", "3", "9"))...)
			require.NotZero(t, got.code)
			require.Contains(t, got.err, "gorun: rank 3 (host h0, pid ")
		})
	}
	t.Run("two steps at once", func(t *testing.T) {
		one := "srun --overlap --mpi=none -N2 -n2 " + strings.Join(helper(nil, "join"), " ")
		got := inSlurm(t, c, "env", "GORUN_RENDEZVOUS="+t.TempDir(), "salloc", "-N2", "-n2", "sh", "-c", one+" & "+one+"; wait")
		require.Zero(t, got.code, got.err)
		require.Equal(t, 4, strings.Count(got.out, " of 2\n"), got.out)
	})
}
