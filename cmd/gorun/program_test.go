package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// module makes a Go module with a command that prints its arguments.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module example.org/talk\n\ngo 1.26\n",
		"main.go":           "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() { fmt.Println(\"talk\", os.Args[1:]) }\n",
		"cmd/say/main.go":   "package main\n\nfunc main() { println(\"say\") }\n",
		"cmd/say/tagged.go": "//go:build tagged\n\npackage main\n\nfunc init() { println(\"tagged\", value) }\n\nvar value string\n",
		"cmd/say/race.go":   "//go:build race\n\npackage main\n\nfunc init() { println(\"race\") }\n",
		"broken/main.go":    "package main\n\nfunc main() { undefined() }\n",
		"library/lib.go":    "// Package library is no command.\npackage library\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// gorun builds a program that is a Go package or file once per job, and passes -build-flags to the
// build. Afterwards it removes the executable.
func TestGoPackagesAreBuilt(t *testing.T) {
	dir := module(t)
	for name, c := range map[string]struct {
		args     []string
		code     int
		out, err string
	}{
		"this directory":     {[]string{"-np", "2", ".", "x"}, 0, "talk [x]\ntalk [x]\n", ""},
		"absolute":           {[]string{dir, "y"}, 0, "talk [y]\n", ""},
		"directory":          {[]string{"-np", "2", "./cmd/say"}, 0, "", "say\nsay\n"},
		"without a dot":      {[]string{"cmd/say"}, 0, "", "say\n"},
		"import path":        {[]string{"example.org/talk/cmd/say"}, 0, "", "say\n"},
		"file":               {[]string{"main.go", "z"}, 0, "talk [z]\n", ""},
		"two of the same":    {[]string{".", "1", ":", ".", "1"}, 0, "talk [1]\ntalk [1]\n", ""},
		"does not compile":   {[]string{"-np", "4", "./broken"}, 125, "", "undefined: undefined"},
		"flags of the build": {[]string{"-build-flags", "-tags tagged", `-build-flags=-ldflags "-X 'main.value=a b'"`, "./cmd/say"}, 0, "", "tagged a b\nsay\n"},
		"wrong flags":        {[]string{"-build-flags", "-tagz tagged", "./cmd/say"}, 125, "", "flag provided but not defined: -tagz"},
		"flags of a program": {[]string{"-build-flags", "-tags tagged", "/bin/true"}, 125, "", "-race and -build-flags are for Go code that gorun builds, and /bin/true is a program already"},
		"race of a program":  {[]string{"-race", "/bin/true"}, 125, "", "-race and -build-flags are for Go code that gorun builds"},
		"no command":         {[]string{"./library"}, 125, "", "cannot build ./library: a program is a package main"},
		"no such package":    {[]string{"example.org/talk/nowhere"}, 125, "", "cannot build"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			r := command(t, []string{"TMPDIR=" + tmp, "GOFLAGS="}, c.args...)
			r.Dir = dir
			require.NoError(t, r.Start())
			require.Equal(t, c.code, r.wait(t), r.err.String())
			require.Equal(t, c.out, r.out.String())
			if c.code == 0 {
				require.Equal(t, c.err, r.err.String())
			} else {
				require.Equal(t, 1, strings.Count(r.err.String(), c.err), "once: %s", r.err)
			}
			require.Empty(t, scratch(t, tmp))
		})
	}
}

// -race builds the program with the race detector.
func TestGoPackagesAreBuiltForRaces(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc, which the race detector needs")
	}
	r := command(t, []string{"GOFLAGS=", "CGO_ENABLED=1"}, "-race", "./cmd/say")
	r.Dir = module(t)
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	require.Equal(t, "race\nsay\n", r.err.String())
}

// gorun looks up a bare name in PATH, even if there is a directory of this name. The error then suggests the
// directory.
func TestBareNameOfADirectoryIsLookedUp(t *testing.T) {
	r := command(t, nil, "cmd")
	r.Dir = module(t)
	require.NoError(t, r.Start())
	require.Equal(t, 127, r.wait(t))
	require.Contains(t, r.err.String(), "did you mean ./cmd?")
}

// Ranks of several programs of one command line form one world.
func TestSeveralProgramsShareAWorld(t *testing.T) {
	args := helper([]string{"-l", "-np", "1"}, "join")
	args = append(args, ":", "-np", "2")
	args = append(args, helper(nil, "join")...)
	got := gorun(t, nil, args...)
	require.Zero(t, got.code, got.err)
	for rank := range 3 {
		require.Contains(t, got.out, fmt.Sprintf("[%d] rank %d of 3\n", rank, rank))
	}
}

// Ranks get their identity in variables. The flags -x and -wdir have effect. Variables with the identity of a rank of
// an outer gorun are replaced or removed.
func TestEnvironmentOfRanks(t *testing.T) {
	r := command(t, []string{"GORUN_RANK=77", "GORUN_FDS=1,2,3", "GORUN_SPARE=1", "GORUN_DEBUG=1", "OLD=old", "GOMAXPROCS="},
		"-np", "2", "-x", "NEW=a=b", "-x", "OLD=new", "-x", "HOME", "-wdir", "/", "sh", "-c",
		`echo $GORUN_RANK $GORUN_SIZE $GORUN_LOCAL_RANK $GORUN_LOCAL_SIZE $GORUN_NODE_RANK $GORUN_NODES $GORUN_FDS $NEW $OLD $HOME $PWD $GORUN_DEBUG spare$GORUN_SPARE`)
	require.NoError(t, r.Start())
	require.Zero(t, r.wait(t), r.err.String())
	lines := strings.Split(strings.TrimSpace(r.out.String()), "\n")
	home := os.Getenv("HOME")
	require.ElementsMatch(t, []string{
		"0 2 0 2 0 1 3,4,5 a=b new " + home + " / 1 spare", "1 2 1 2 0 1 3,4,5 a=b new " + home + " / 1 spare",
	}, lines)
}

// GOMAXPROCS of a rank is the rank's share of the allowed processors, or the value that -x sets.
func TestProcessorShareOfRanks(t *testing.T) {
	launch.Processors(t)
	var set unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &set))
	allowed := set.Count()
	show := []string{"sh", "-c", "echo $GOMAXPROCS"}
	for _, c := range []struct {
		flags []string
		want  int
	}{
		{[]string{"-np", "1"}, allowed},
		{[]string{"-np", "2"}, max(1, allowed/2)},
		{[]string{"-np", fmt.Sprint(allowed + 1)}, 1},
		{[]string{"-np", "1", "-bind-to", "core"}, 1},
		{[]string{"-np", "1", "-x", "GOMAXPROCS=17"}, 17},
	} {
		r := command(t, nil, append(c.flags, show...)...)
		r.Env = append(r.Env[:0:0], r.Env...)
		for i, v := range r.Env {
			if strings.HasPrefix(v, "GOMAXPROCS=") {
				r.Env[i] = "UNUSED="
			}
		}
		require.NoError(t, r.Start())
		require.Zero(t, r.wait(t))
		require.Equal(t, fmt.Sprint(c.want), strings.Fields(r.out.String())[0], "%v", c.flags)
	}
}

// allowedProcessors returns the processors that tests may run on.
func allowedProcessors(t *testing.T) []int {
	t.Helper()
	var set unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &set))
	var allowed []int
	for cpu := 0; len(allowed) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			allowed = append(allowed, cpu)
		}
	}
	return allowed
}

// Jobs that bind their ranks do not share a processor, with each kind of containment. A job keeps its
// processors until it ends or is killed.
func TestBoundJobsDoNotShareAProcessor(t *testing.T) {
	launch.Processors(t)
	allowed := allowedProcessors(t)
	bind := func(ranks int) []string {
		return []string{"-np", fmt.Sprint(ranks), "-bind-to", "core", "-report-bindings"}
	}
	for _, contain := range contains {
		env := []string{"GORUN_CONTAIN=" + contain}
		first, _ := ready(t, 1, "ready", env, append(bind(1), "sh", "-c", "echo ready; exec sleep 1000"))
		got := gorun(t, nil, append(bind(len(allowed)), "true")...)
		require.Equal(t, 125, got.code)
		require.Contains(t, got.err, fmt.Sprintf("gorun: -bind-to core: %d of the processors ", len(allowed)))
		require.Contains(t, got.err, fmt.Sprintf("other jobs have bound ranks to %d: ", allowed[0]))
		if len(allowed) > 1 {
			got = gorun(t, nil, append(bind(1), "true")...)
			require.Zero(t, got.code, got.err)
			require.Contains(t, got.err, fmt.Sprintf("rank 0 is bound to processor %d\n", allowed[1]))
		}
		kill9(first.Process.Pid)
		require.Equal(t, 137, first.wait(t))
		gone(t, first)
		got = gorun(t, nil, append(bind(1), "true")...)
		require.Zero(t, got.code, got.err)
		require.Contains(t, got.err, fmt.Sprintf("rank 0 is bound to processor %d\n", allowed[0]))
	}
}

// -bind-to core binds each rank to one processor. If there is one processor too few, ranks 0 and 1 share the first
// one.
func TestBindToCore(t *testing.T) {
	launch.Processors(t)
	allowed := allowedProcessors(t)
	ranks := len(allowed) + 1
	got := gorun(t, nil, "-np", fmt.Sprint(ranks), "-l", "-bind-to", "core", "-report-bindings",
		"sed", "-n", `s/^Cpus_allowed_list:\t//p`, "/proc/self/status")
	require.Zero(t, got.code, got.err)
	for rank := range ranks {
		cpu := allowed[max(0, rank-1)]
		require.Contains(t, got.out, fmt.Sprintf("[%d] %d\n", rank, cpu))
		require.Contains(t, got.err, fmt.Sprintf("rank %d is bound to processor %d\n", rank, cpu))
	}
}

// -report writes the outcome of the job, its first failure, and the end and resources of each rank
// as JSON.
func TestReport(t *testing.T) {
	name := filepath.Join(t.TempDir(), "report.json")
	got := gorun(t, nil, "-np", "3", "-report", name, "sh", "-c",
		"if [ $GORUN_RANK = 1 ]; then echo why >&2; kill -KILL $$; fi; exec sleep 1000")
	require.Equal(t, 137, got.code)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var r struct {
		ExitCode int  `json:"exit_code"`
		Timeout  bool `json:"timeout"`
		Failure  struct {
			Rank int      `json:"rank"`
			How  string   `json:"how"`
			Tail []string `json:"stderr_tail"`
		} `json:"first_failure"`
		Ranks []struct {
			Rank, PID int
			Exit      int     `json:"exit_code"`
			Signal    string  `json:"signal"`
			Seconds   float64 `json:"seconds"`
			MaxRSS    int64   `json:"max_rss_bytes"`
		}
	}
	require.NoError(t, json.Unmarshal(text, &r))
	require.Equal(t, 137, r.ExitCode)
	require.False(t, r.Timeout)
	require.Equal(t, 1, r.Failure.Rank)
	require.Equal(t, []string{"why"}, r.Failure.Tail)
	require.Len(t, r.Ranks, 3)
	for rank, want := range []struct {
		code   int
		signal string
	}{{143, "SIGTERM"}, {137, "SIGKILL"}, {143, "SIGTERM"}} {
		require.Equal(t, rank, r.Ranks[rank].Rank)
		require.Equal(t, want.code, r.Ranks[rank].Exit)
		require.Equal(t, want.signal, r.Ranks[rank].Signal)
		require.Positive(t, r.Ranks[rank].PID)
		require.Positive(t, r.Ranks[rank].Seconds)
		require.Positive(t, r.Ranks[rank].MaxRSS)
	}
}

// -explain sets GORUN_EXPLAIN for the ranks.
func TestExplainReachesTheRanks(t *testing.T) {
	got := gorun(t, nil, "-np", "2", "-explain", "sh", "-c", "echo $GORUN_EXPLAIN")
	require.Equal(t, "1\n1\n", got.out)
}

// -reproducible sets GORUN_REPRODUCIBLE for the ranks.
func TestReproducibleReachesTheRanks(t *testing.T) {
	got := gorun(t, nil, "-np", "2", "-reproducible", "sh", "-c", "echo $GORUN_REPRODUCIBLE")
	require.Equal(t, "1\n1\n", got.out)
}

// -h and -version print to standard output and exit with 0.
func TestHelpAndVersion(t *testing.T) {
	got := gorun(t, nil, "-h")
	require.Zero(t, got.code)
	require.Contains(t, got.out, "examples:")
	got = gorun(t, nil, "-version")
	require.Zero(t, got.code)
	require.Regexp(t, `^gorun .*go1\.`, got.out)
}

// A job with many more ranks than processors forms one world on one machine.
func TestManyRanks(t *testing.T) {
	ranks := 64
	if soak {
		ranks = 256
	}
	got := gorun(t, nil, helper([]string{"-np", fmt.Sprint(ranks)}, "join")...)
	require.Zero(t, got.code, got.err)
	require.Equal(t, ranks, strings.Count(got.out, fmt.Sprintf(" of %d\n", ranks)))
}

// If a program must be built and there is no go command, the error names the missing go command.
func TestWithoutGoCommand(t *testing.T) {
	r := command(t, []string{"PATH=/nowhere"}, ".")
	r.Dir = module(t)
	require.NoError(t, r.Start())
	require.Equal(t, 127, r.wait(t))
	require.Contains(t, r.err.String(), "no go command in PATH")
}

// gorun asks the go command once whether a path that is no file is the import path of a package.
func TestImportPathIsAskedForOnce(t *testing.T) {
	tools := t.TempDir()
	asked := filepath.Join(tools, "asked")
	require.NoError(t, os.WriteFile(filepath.Join(tools, "go"), []byte("#!/bin/sh\necho \"$@\" >>"+asked+"\nexit 1\n"), 0o755))
	r := command(t, []string{"PATH=" + tools + ":" + os.Getenv("PATH")}, "-np", "2", "bin/no-such-program")
	require.NoError(t, r.Start())
	require.Equal(t, 127, r.wait(t))
	text, err := os.ReadFile(asked)
	require.NoError(t, err)
	require.Equal(t, "list -find bin/no-such-program\n", string(text))
}

// If the directory for temporary files does not exist, or no program may be executed there, the error names TMPDIR.
func TestNoPlaceForABuild(t *testing.T) {
	missing := command(t, []string{"TMPDIR=/no/such", "GOFLAGS="}, ".")
	missing.Dir = module(t)
	require.NoError(t, missing.Start())
	require.Equal(t, 125, missing.wait(t))
	require.Regexp(t, `gorun: no directory for the program that gorun builds: mkdir /no/such/\S+: no such file or directory: set TMPDIR to another directory`, missing.err)

	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOEXEC, ""); err != nil {
		t.Skipf("a file system without execution cannot be mounted: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	r := command(t, []string{"TMPDIR=" + dir, "GOTMPDIR=" + t.TempDir(), "GOFLAGS="}, ".")
	r.Dir = module(t)
	require.NoError(t, r.Start())
	require.Equal(t, 126, r.wait(t))
	require.Contains(t, r.err.String(), "its file system is mounted noexec: use another directory; for a program that gorun builds, set TMPDIR")
}

// A rank can run a gorun, whose job is independent of the outer job.
func TestGorunInsideARank(t *testing.T) {
	inner := strings.Join(append([]string{binary}, helper([]string{"-np", "2"}, "join")...), " ")
	got := gorun(t, nil, "-np", "2", "sh", "-c", inner)
	require.Zero(t, got.code, got.err)
	require.Equal(t, 2, strings.Count(got.out, "rank 0 of 2\n"))
	require.Equal(t, 2, strings.Count(got.out, "rank 1 of 2\n"))
}

// A signal during the build of a program ends the build and gorun, and leaves no file.
func TestSignalDuringABuild(t *testing.T) {
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		tools, scratch, program := t.TempDir(), t.TempDir(), module(t)
		// This go command starts a process, as the real one starts compilers, and does not end.
		require.NoError(t, os.WriteFile(filepath.Join(tools, "go"), []byte("#!/bin/sh\nsleep 1000 &\necho builds\nwait\n"), 0o755))
		r := command(t, []string{"PATH=" + tools + ":" + os.Getenv("PATH"), "TMPDIR=" + scratch}, "-np", "2", program)
		r.Stderr = nil
		said, err := r.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, r.Start())
		lines := bufio.NewReader(said)
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "builds\n", line)
		require.NoError(t, r.Process.Signal(s))
		text, err := io.ReadAll(lines)
		require.NoError(t, err)
		require.Equal(t, 128+int(s), r.wait(t))
		require.Equal(t, fmt.Sprintf("gorun: interrupted by %s while building %s\n", unix.SignalName(s), program), string(text))
		left, err := os.ReadDir(scratch)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}
