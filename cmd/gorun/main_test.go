package main_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// binary is the path of the gorun under test. self is the path of this test binary, which is also the program
// of the ranks.
var binary, self string

// helperPrefix marks the argument that makes the test binary a program of the tests, usually that of a rank.
const helperPrefix = "helper:"

// soak selects long loops, for occasional runs.
var soak = os.Getenv("GORUN_SOAK") == "1"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], helperPrefix) {
		os.Exit(helperMain(strings.TrimPrefix(os.Args[1], helperPrefix), os.Args[2:]))
	}
	heedSignals()
	os.Exit(buildAndRun(m))
}

// heedSignals makes this process catch a SIGINT and a SIGHUP that it ignores because nohup, or a shell for a background
// job, has started it. The programs under test would inherit ignored signals, and would correctly ignore them, too.
func heedSignals() {
	// Go catches SIGQUIT and SIGTERM in any case, and signal.Ignored only tells of SIGHUP and SIGINT.
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gorun-test-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "gorun")
	var flags []string
	if raceEnabled {
		flags = []string{"-race"}
	}
	if err := launch.Install(".", dir, flags, "cmd/gorun"); err != nil {
		panic(err)
	}
	if self, err = os.Executable(); err != nil {
		panic(err)
	}
	// Without this setting, the race detector delays the end of each process by a second.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	probeContains()
	return m.Run()
}

// limit is how long one run of gorun may take before the test fails. It is far above the 30 s within which a
// host must answer gorun. gorun's own timeout therefore comes first, and its error names the cause.
const limit = 2 * time.Minute

// run is a gorun that was or will be started.
type run struct {
	*exec.Cmd
	mark   string // a variable in the environment of every process of the run
	out    *bytes.Buffer
	err    *bytes.Buffer
	exited bool
}

// command prepares a run of gorun; env is added to its environment. At the end of the test no
// process of the run may be left.
func command(t *testing.T, env []string, args ...string) *run {
	t.Helper()
	r := &run{Cmd: exec.Command(binary, args...), out: new(bytes.Buffer), err: new(bytes.Buffer)}
	r.mark = fmt.Sprintf("GORUN_TEST_MARK=%s-%d", t.Name(), time.Now().UnixNano())
	r.Env = append(append(os.Environ(), r.mark), env...)
	r.Stdout, r.Stderr = r.out, r.err
	r.WaitDelay = time.Second
	t.Cleanup(func() {
		if !r.exited && r.Process != nil {
			_ = r.Process.Kill()
			_ = r.Wait()
		}
		for _, pid := range launch.Marked(r.mark) {
			t.Errorf("process %d is left: %s", pid, commandLine(pid))
			kill9(pid)
		}
	})
	return r
}

// waitSignaling is like wait, and sends a signal to gorun every 10 ms.
func (r *run) waitSignaling(t *testing.T, sig os.Signal) int {
	t.Helper()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Millisecond):
				_ = r.Process.Signal(sig) // gorun may have ended
			}
		}
	}()
	return r.wait(t)
}

// wait waits for the end of gorun and returns its exit code, which is 128+n if signal n has killed
// it.
func (r *run) wait(t *testing.T) int {
	t.Helper()
	timer := time.AfterFunc(limit, func() { _ = r.Process.Kill() })
	err := r.Wait()
	require.True(t, timer.Stop(), "gorun hangs\n%s\n%s", r.out, r.err)
	r.exited = true
	require.NotErrorIs(t, err, exec.ErrWaitDelay, "a process still has the output open")
	return exitStatus(r.ProcessState)
}

// result is the outcome of a run.
type result struct {
	code     int
	out, err string
}

// gorun runs gorun with a standard input and waits for its end.
func gorun(t *testing.T, stdin io.Reader, args ...string) result {
	t.Helper()
	r := command(t, nil, args...)
	r.Stdin = stdin
	require.NoError(t, r.Start())
	code := r.wait(t)
	require.Empty(t, launch.Marked(r.mark), "processes are left")
	return result{code: code, out: r.out.String(), err: r.err.String()}
}

// exits runs gorun, which must exit with this code and print these texts to standard error.
func exits(t *testing.T, code int, texts []string, args ...string) result {
	t.Helper()
	got := gorun(t, nil, args...)
	require.Equal(t, code, got.code, got.err)
	for _, want := range texts {
		require.Contains(t, got.err, want)
	}
	return got
}

// file returns an open temporary file with this content.
func file(t *testing.T, data []byte) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(name, data, 0o644))
	f, err := os.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}
