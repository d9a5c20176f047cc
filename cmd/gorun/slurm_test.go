package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/internal/testbed/slurm"
)

// inSlurm runs a command on the first host of a Slurm cluster, and checks that no process is left.
func inSlurm(t *testing.T, c *slurm.Cluster, words ...string) result {
	t.Helper()
	r := command(t, nil)
	on := c.Command(words...)
	r.Path, r.Args = on.Path, on.Args
	require.NoError(t, r.Start())
	code := r.wait(t)
	c.Empty()
	return result{code: code, out: r.out.String(), err: r.err.String()}
}

// batch submits a script and returns the name of its output without the array index.
func batch(t *testing.T, c *slurm.Cluster, script string, flags ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"+script), 0o755))
	words := slices.Concat([]string{"sbatch", "--parsable", "--chdir=/tmp", "-o", name + ".%a"}, flags, []string{name})
	out, err := c.Command(words...).CombinedOutput()
	require.NoError(t, err, string(out))
	return name
}

// content returns the content of a file, or "" if it does not exist.
func content(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}

// In an allocation of Slurm, gorun takes the hosts and slots from the allocation and starts its agents by
// srun. Other variables for srun in the environment have no effect on that.
func TestSlurmAllocation(t *testing.T) {
	c := slurm.Start(t, 3)
	t.Run("salloc", func(t *testing.T) {
		got := inSlurm(t, c, slices.Concat([]string{"salloc", "-N3", "-n4", binary}, helper([]string{"-l"}, "book"))...)
		require.Zero(t, got.code, got.err)
		require.Contains(t, got.err, "of Slurm (SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE): 4 slots on 3 hosts, h0:2 h1:1 h2:1; agents start by srun\n")
		for rank := range 4 {
			require.Contains(t, got.out, fmt.Sprintf("[%d] h00=0 h01=0 h10=1 h20=2\n", rank))
		}
	})
	t.Run("counts of hosts differ", func(t *testing.T) {
		got := inSlurm(t, c, "salloc", "-N3", "-n9", "-m", "plane=4", binary, "sh", "-c", "echo $GORUN_HOST $SLURMD_NODENAME")
		require.Zero(t, got.code, got.err)
		require.Equal(t, 9, strings.Count(got.out, "\n"), got.out)
		for i := range 3 {
			require.Contains(t, got.out, fmt.Sprintf("h%d h%d\n", i, i), "ranks see the variables of their own host")
		}
	})
	t.Run("input, output and exit code", func(t *testing.T) {
		data := noise(3, 1<<20)
		name := file(t, data).Name()
		dir := t.TempDir()
		got := inSlurm(t, c, "salloc", "-N2", "-n2", "sh", "-c",
			fmt.Sprintf("%s -stdin all -on-failure continue -output-dir %s sh -c 'cat; exit $((GORUN_RANK * 7))' <%s", binary, dir, name))
		require.Equal(t, 7, got.code, got.err)
		for rank := range 2 {
			require.Equal(t, string(data), content(filepath.Join(dir, fmt.Sprintf("rank.%d.out", rank))))
		}
		require.Contains(t, got.err, "first failure: rank 1")
	})
	t.Run("variables that are for other steps", func(t *testing.T) {
		got := inSlurm(t, c, "salloc", "-N2", "-n2", "env", "SLURM_LABELIO=1", "SLURM_UNBUFFEREDIO=1", "SLURM_STDINMODE=none", "SLURM_STDOUTMODE=/dev/null",
			"SLURM_STDERRMODE=/dev/null", "SLURM_DISTRIBUTION=arbitrary", "SLURM_OPEN_MODE=append", "SRUN_CPUS_PER_TASK=3", binary, "sh", "-c", "echo $SLURM_LABELIO $SLURM_DISTRIBUTION")
		require.Zero(t, got.code, got.err)
		require.Equal(t, "1 arbitrary\n1 arbitrary\n", got.out, "the ranks see them")
	})
	t.Run("fewer tasks than slots", func(t *testing.T) {
		got := inSlurm(t, c, "salloc", "-N2", "-n4", "env", "SLURM_NTASKS=3", binary, "echo", "here")
		require.Zero(t, got.code, got.err)
		require.Equal(t, strings.Repeat("here\n", 3), got.out)
		require.Contains(t, got.err, "3 ranks for 4 slots on 2 hosts")
	})
	t.Run("a heterogeneous job", func(t *testing.T) {
		got := inSlurm(t, c, slices.Concat([]string{"salloc", "-N1", "-n2", ":", "-N2", "-n2", binary}, helper([]string{"-l"}, "book"))...)
		require.Zero(t, got.code, got.err)
		require.Contains(t, got.err, "of 2 components): 4 slots on 3 hosts, h0:2 h1:1 h2:1")
		require.Contains(t, got.out, "[3] h00=0 h01=0 h10=1 h20=2\n")
	})
	t.Run("beside a step that has everything", func(t *testing.T) {
		got := inSlurm(t, c, "salloc", "-N2", "-n8", "sh", "-c", "srun sleep 1000 & "+binary+" -np 2 echo here; kill $!; wait")
		require.Equal(t, "here\nhere\n", got.out, got.err)
	})
	t.Run("the program does not exist", func(t *testing.T) {
		got := inSlurm(t, c, "salloc", "-N2", binary, "-agent-path", "/no/gorun", "true")
		require.Equal(t, 125, got.code)
		require.Contains(t, got.err, "host h0: ")
		require.Contains(t, got.err, "/no/gorun")
	})
	t.Run("gorun as a step of several tasks", func(t *testing.T) {
		got := inSlurm(t, c, "srun", "-n2", binary, "true")
		require.NotZero(t, got.code)
		require.Contains(t, got.err, "srun has started gorun 2 times")
	})
	t.Run("less than the allocation names", func(t *testing.T) {
		got := inSlurm(t, c, "salloc", "-N2", "env", "SLURM_TASKS_PER_NODE=1", binary, "true")
		require.Equal(t, 125, got.code)
		require.Contains(t, got.err, "2 hosts, and numbers of ranks for 1")
	})
}

// gorun runs in each task of a job array from a batch script.
func TestSlurmBatch(t *testing.T) {
	c := slurm.Start(t, 2)
	name := batch(t, c, binary+" sh -c 'echo $SLURM_ARRAY_TASK_ID: $GORUN_RANK/$GORUN_SIZE'", "-N2", "-n3", "--array=1-2")
	c.Empty()
	for i := range 2 {
		for rank := range 3 {
			require.Contains(t, content(fmt.Sprintf("%s.%d", name, i+1)), fmt.Sprintf("%d: %d/3\n", i+1, rank))
		}
	}
}

// TestSlurmArrayOfWorlds checks that each task of a job array is a world of its own. srun starts the ranks,
// with or without PMI. The tasks run at the same time on the same hosts. All of them use one directory for the
// files through which the ranks of a world find each other.
func TestSlurmArrayOfWorlds(t *testing.T) {
	c := slurm.Start(t, 2)
	for _, mpi := range []string{"pmi2", "none"} {
		t.Run(mpi, func(t *testing.T) {
			meet := t.TempDir()
			// Each task waits for all other tasks before its step. Without this wait, the test might not notice
			// that ranks of two tasks join the same world.
			step := "touch " + meet + "/task.$SLURM_ARRAY_TASK_ID; while [ $(ls " + meet + " | grep -c task) -lt 3 ]; do sleep 0.05; done\n" +
				"GORUN_RENDEZVOUS=" + meet + " exec srun --mpi=" + mpi + " -N2 -n2 -m block " + strings.Join(helper(nil, "book"), " ")
			name := batch(t, c, step, "-N2", "-n2", "--array=1-3")
			c.Empty()
			for i := range 3 {
				require.Equal(t, "h00=0 h10=1\nh00=0 h10=1\n", content(fmt.Sprintf("%s.%d", name, i+1)))
			}
		})
	}
}

// TestSlurmEndsJobs runs jobs that Slurm ends, and jobs whose host fails. No process may be left, and the
// output must name the cause.
func TestSlurmEndsJobs(t *testing.T) {
	c := slurm.Start(t, 2)
	t.Run("scancel", func(t *testing.T) {
		name := batch(t, c, "exec "+binary+" "+strings.Join(helper(nil, "grandchildren"), " "), "-N2", "-n4", "--array=0-0")
		c.Await("four ranks are ready", func() bool {
			require.NotContains(t, content(name+".0"), "first failure")
			return strings.Count(content(name+".0"), "ready\n") >= 4
		})
		out, err := c.Command("scancel", "-u", "root").CombinedOutput()
		require.NoError(t, err, string(out))
		c.Empty()
		require.Contains(t, content(name+".0"), "CANCELLED")
	})
	t.Run("the host of a rank fails", func(t *testing.T) {
		r := command(t, nil)
		on := c.Command(slices.Concat([]string{"salloc", "-N2", "-n2", binary}, helper(nil, "grandchildren"))...)
		r.Path, r.Args = on.Path, on.Args
		out := r.lines(t)
		require.NoError(t, r.Start())
		awaitLines(t, out, 2, "ready")
		c.Kill("h1")
		require.Equal(t, 125, r.wait(t), r.err.String())
		require.Contains(t, r.err.String(), "host h1 is lost with rank 1")
		c.Await("no process of the job is left on h0", func() bool { return len(c.Processes("h0")) == 0 })
	})
}
