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

// ErrTimeout says that a job was ended because it took too long.
var ErrTimeout = errors.New("launch: the job did not end in time")

const (
	// grace is how long a job that was told to end may take before it is killed.
	grace = 3 * time.Second
	// testTimeout ends a job of a test that hangs. Nothing is judged by it.
	testTimeout = 2 * time.Minute
)

// Result is how a command ended: its exit code, what it wrote, and the time from its
// start to its end.
type Result struct {
	Code        int
	Out, Errors string
	Wall        time.Duration
}

// jobs counts the commands that were run.
var jobs atomic.Int64

// Execute runs a command, with additional environment, to its end. A command that takes
// longer than timeout gets a signal to end, then is killed with all processes that it has
// started, and the error is ErrTimeout. An exit code above 0 is an error, too; the
// Result is there nevertheless.
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

// Run is Execute for a test, whatever the exit code is. It fails the test when the
// command cannot be run, or does not end in two minutes.
func Run(t *testing.T, env []string, command ...string) Result {
	t.Helper()
	r, err := Execute(t.Context(), testTimeout, env, command...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, r.Errors)
	}
	return r
}

// tail returns the last lines of a text.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
