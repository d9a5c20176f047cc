package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// timeout ends a run that hangs. Nothing is judged by it.
const timeout = 2 * time.Minute

var (
	// mu guards the variables below it.
	mu    sync.Mutex
	dir   string // "" until something is built
	built = make(map[string]bool)
)

// Gorun returns where gorun is, which the first call builds. TestMain calls Clean.
func Gorun(t *testing.T) string {
	t.Helper()
	return Build(t, "gorun", "github.com/gorun-hpc/gorun/cmd/gorun")
}

// Build is Gorun for a program of any package, built with flags of the go command.
// Programs of one name are the same.
func Build(t *testing.T, name, pkg string, flags ...string) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "gorun-test"); err != nil { //nolint:usetesting // it outlives the test
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, name)
	if !built[name] {
		build := exec.Command("go", slices.Concat([]string{"build", "-o", file}, flags, []string{pkg})...)
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as without the race detector
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", pkg, err, out)
		}
		built[name] = true
	}
	return file
}

// Clean removes what was built.
func Clean() {
	mu.Lock()
	defer mu.Unlock()
	if dir != "" {
		_ = os.RemoveAll(dir)
	}
}

// Result is how a command ended: its exit code, and what it wrote.
type Result struct {
	Code        int
	Out, Errors string
}

// Run runs a command, with additional environment, to its end. It fails the test if it
// cannot be run. After two minutes the command is interrupted.
func Run(t *testing.T, env []string, command ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var out, errs strings.Builder
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v\n%s", command, err, errs.String())
	}
	return Result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}
