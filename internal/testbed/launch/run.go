package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// ErrTimeout is the error of a job that was ended because it exceeded its time limit.
var ErrTimeout = errors.New("launch: the job did not end in time")

const (
	// grace is the time between SIGTERM and SIGKILL for a job that exceeds its time limit.
	grace = 3 * time.Second
	// testTimeout is the time limit for a job of a test. It only ends jobs that hang. No test result depends on
	// its length.
	testTimeout = 2 * time.Minute
)

// Result is the result of a command: its exit code, its output, and the time from its start to
// its end.
type Result struct {
	Code        int
	Out, Errors string // standard output and standard error
	Wall        time.Duration
}

// jobs counts the commands that Execute has run, to give each a mark of its own.
var jobs atomic.Int64

// Execute runs a command, with additional environment variables, to its end. If the command takes longer than
// timeout, Execute sends SIGTERM to the command's process group, kills the command after the time grace, and
// returns ErrTimeout. An exit code other than 0 is also an error. After every error, Execute kills the
// processes that the command has started and that still run. The Result is valid even if Execute returns one of
// these errors.
func Execute(ctx context.Context, timeout time.Duration, env []string, command ...string) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	mark := fmt.Sprintf("GORUN_TEST_JOB=%d.%d", os.Getpid(), jobs.Add(1))
	cmd.Env = append(append(os.Environ(), env...), mark)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = grace
	group(cmd)
	start := time.Now()
	err := cmd.Run()
	r := Result{cmd.ProcessState.ExitCode(), out.String(), errs.String(), time.Since(start)}
	if err == nil {
		return r, nil
	}
	for _, pid := range Marked(mark) {
		kill(pid)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return r, fmt.Errorf("%w: %s: %s", ErrTimeout, timeout, strings.Join(command, " "))
	}
	return r, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, tail(r.Errors))
}

// Run does the same as Execute for a test. It returns the Result for every exit code. It fails the test if
// the command cannot be run, or does not end within two minutes.
func Run(t *testing.T, env []string, command ...string) Result {
	t.Helper()
	r, err := Execute(t.Context(), testTimeout, env, command...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, r.Errors)
	}
	return r
}

// tail returns the last ten lines of a text.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
