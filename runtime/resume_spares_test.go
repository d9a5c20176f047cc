package runtime_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	testbed "github.com/gorun-hpc/gorun/internal/testbed/launch"
	"github.com/gorun-hpc/gorun/internal/testbed/nscluster"
	"github.com/gorun-hpc/gorun/runtime"
)

func init() {
	programs["warm"] = warm
	programs["warm once"] = warmOnce
	programs["bound"] = func() { runtime.Main(bound) }
	programs["go on without a host"] = func() { runtime.Main(goOnWithoutAHost) }
}

// warm is like resume (in resume_test.go). A spare process prints that it is a spare before it
// knows its rank.
func warm() {
	spare := os.Getenv("GORUN_SPARE") != ""
	if spare {
		fmt.Fprintln(os.Stdout, "a spare process begins")
		fmt.Fprintf(os.Stdout, "%s is of a spare\n", os.Getenv("PROGRAM"))
	}
	runtime.Main(func(w *runtime.World) error {
		if os.Getenv("GORUN_RANK") != fmt.Sprint(w.Rank()) || os.Getenv("GORUN_SPARE") != "" || spare != (w.Role() == runtime.Recovered) {
			return fmt.Errorf("%v, rank %s of the environment, %v", w.Role(), os.Getenv("GORUN_RANK"), spare)
		}
		return resume(w)
	})
}

// warmOnce is like resume, except that a spare process ends at once.
func warmOnce() {
	if os.Getenv("GORUN_SPARE") != "" {
		os.Exit(3)
	}
	runtime.Main(resume)
}

// Lost ranks are replaced by processes that were started with the job. If such a process replaces a
// rank, all its output since its start is shown. If it replaces no rank, its output is not shown.
func TestSpares(t *testing.T) {
	r := launch(t, 3, "warm", "-l", "-on-failure", "respawn", "-spares", "3", "-x", envDeaths+"=0:1:short,1:2:short")
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 2, strings.Count(r.errors, "; it is started again ("), r.errors)
	require.Contains(t, r.out, "[1] a spare process begins\n")
	require.Contains(t, r.out, "[2] a spare process begins\n")
	require.Equal(t, 2, strings.Count(r.out, "a spare process begins"), "the third spare replaced no rank, so its output is not shown")
	require.Equal(t, 3, strings.Count(r.out, "in generation 2\n"), r.out)
	require.NotContains(t, r.errors, "a spare process")
}

// If a spare has ended, gorun reports that, and the lost rank is started without a spare.
func TestSpareThatEnds(t *testing.T) {
	r := launch(t, 2, "warm once", "-on-failure", "respawn", "-spares", "1", "-x", envDeaths+"=0:1:short")
	require.Zero(t, r.code, r.errors)
	require.Contains(t, r.errors, "gorun: a spare process (pid ")
	require.Contains(t, r.errors, ") exited with code 3\n")
	last := strings.Count(r.errors, " started again (") // one more if a spare ended after it had become a rank
	require.Equal(t, 2, strings.Count(r.out, fmt.Sprintf("in generation %d\n", last)), r.out+r.errors)
}

// gorun replaces the spares that it has used. In this test, the number of lost ranks exceeds the value of
// -spares. Each lost rank must be replaced by a process that was started in advance. The program checks
// this.
func TestSparesAreReplaced(t *testing.T) {
	deaths := "=0:1:short,1:2:short,2:1:dup,3:0:long,4:2:short"
	r := launch(t, 3, "warm", "-l", "-v", "-on-failure", "respawn=6", "-spares", "1", "-x", envDeaths+deaths)
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 5, strings.Count(r.errors, "; it is started again ("), r.errors)
	require.Equal(t, 5, strings.Count(r.out, "a spare process begins"), r.out)
	require.Equal(t, 3, strings.Count(r.out, "in generation 5\n"), r.out)
	lines := strings.Split(r.errors, "\n")
	for n := 1; n <= 5; n++ {
		loss := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, fmt.Sprintf(" started again (%d of 6)", n)) })
		require.Equal(t, n, strings.Count(strings.Join(lines[:loss], "\n"), "gorun: a spare is process "), "before loss %d, in\n%s", n, r.errors)
	}
	require.Equal(t, 6, strings.Count(r.errors, "gorun: a spare is process "), r.errors)
	require.NotContains(t, r.errors, "a spare process")
}

// The number of spares that gorun starts is at most the number of restarts that are left.
func TestSparesOfTheLastRestart(t *testing.T) {
	r := launch(t, 2, "warm", "-v", "-on-failure", "respawn=2", "-spares", "2", "-x", envDeaths+"=0:1:short,1:0:short")
	require.Zero(t, r.code, r.errors)
	require.Equal(t, 2, strings.Count(r.errors, "gorun: a spare is process "), r.errors)
	require.Equal(t, 2, strings.Count(r.out, "in generation 2\n"), r.out)
}

// In a job of several programs, each spare runs one of them, and -spares is the number of spares
// for each program.
func TestSparesOfSeveralPrograms(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	program := func(name string) []string {
		return []string{"-n", "2", "-x", "PROGRAM=" + name, "-x", envProgram + "=warm", "-x", envDeaths + "=0:2:short,1:3:short,2:0:short", self}
	}
	r := testbed.Run(t, nil, slices.Concat([]string{testbed.Gorun(t), "-l", "-on-failure", "respawn=4", "-spares", "1"}, program("a"), []string{":"}, program("b"))...)
	require.Zero(t, r.Code, r.Errors)
	require.Equal(t, 3, strings.Count(r.Errors, "; it is started again ("), r.Errors)
	for _, rank := range []string{"[0] a", "[2] b", "[3] b"} {
		require.Contains(t, r.Out, rank+" is of a spare\n")
	}
	require.Equal(t, 4, strings.Count(r.Out, "in generation 3\n"), r.Out)
}

// bound makes each rank print on which processors its threads may run, and exchange messages. Ranks die where
// envDeaths says so.
func bound(w *runtime.World) error {
	return w.Resume(func(w *runtime.World) error {
		tasks, err := filepath.Glob("/proc/self/task/*")
		if err != nil {
			return err
		}
		lists := map[string]bool{}
		for _, task := range tasks {
			status, err := os.ReadFile(filepath.Join(task, "status"))
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
				continue // the thread has ended
			} else if err != nil {
				return err
			}
			_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:")
			lists[strings.Fields(list)[0]] = true
		}
		fmt.Fprintf(os.Stdout, "rank %d, generation %d: %s on %v, %s\n", w.Rank(), w.Generation(), w.Role(),
			slices.Sorted(maps.Keys(lists)), os.Getenv("GOMAXPROCS"))
		if err := exchangeShort(w); err != nil {
			return err
		}
		dieAt(w, "short")
		return exchangeShort(w)
	})
}

// A spare that replaces a rank is bound to the processors of that rank.
func TestSparesAreBound(t *testing.T) {
	if goruntime.NumCPU() < 2 {
		t.Skip("one processor: a rank has no other")
	}
	testbed.Processors(t)
	for _, bind := range []string{"core", "none"} {
		r := launch(t, 2, "bound", "-bind-to", bind, "-on-failure", "respawn", "-spares", "1", "-x", envDeaths+"=0:1:short")
		require.Zero(t, r.code, r.errors)
		_, before, found := strings.Cut(r.out, "rank 1, generation 0: initial on ")
		require.True(t, found, r.out)
		before, _, _ = strings.Cut(before, "\n")
		require.Contains(t, r.out, "rank 1, generation 1: recovered on "+before+"\n")
		require.NotContains(t, r.errors, "which was a spare")
		if bind == "core" {
			require.Regexp(t, `^\[\d+\], 1$`, before)
		}
	}
}

// goOnWithoutAHost exchanges messages until a host is lost.
func goOnWithoutAHost(w *runtime.World) error {
	return w.Resume(func(w *runtime.World) error {
		for n := 0; w.Generation() == 0; n++ {
			if err := exchangeShort(w); err != nil {
				return err
			}
			if n == 1 && w.Rank() == 0 {
				fmt.Fprintln(os.Stdout, "going")
			}
		}
		err := exchangeShort(w)
		fmt.Fprintf(os.Stdout, "rank %d: %v on %s\n", w.Rank(), w.Role(), os.Getenv("GORUN_HOST"))
		return err
	})
}

// A host whose cable is unplugged is lost, and its ranks are started again on other hosts.
func TestResumeWithoutACutHost(t *testing.T) {
	t.Parallel() // the test waits most of the time
	c := nscluster.StartSSH(t, 4)
	self, err := os.Executable()
	require.NoError(t, err)
	on := c.Command("h0") // reaches the other hosts by network
	on.Args = append(on.Args, testbed.Gorun(t), "-host", "h1:2,h2:2,h3:2", "-np", "4", "-spares", "1", "-rsh", c.SSH(), "-on-failure", "respawn",
		"-x", envProgram+"=go on without a host", self)
	cmd := exec.CommandContext(t.Context(), on.Path, on.Args[1:]...)
	var errs strings.Builder
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan())
	require.Equal(t, "going", lines.Text())
	c.Cut("h2")
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
	}
	require.NoError(t, cmd.Wait(), errs.String())
	require.ElementsMatch(t, []string{"rank 0: survivor on h1", "rank 1: survivor on h1", "rank 2: recovered on h3", "rank 3: recovered on h3"}, rest)
	require.Contains(t, errs.String(), "host h2 is lost with ranks 2-3: it has been silent for 4.75s")
}
