// Package launch starts programs of the module through gorun, for the tests of
// the examples.
package launch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// timeout ends a run that hangs. Nothing is judged by it.
const timeout = 2 * time.Minute

// gorun and program are the binaries that Main built.
var gorun, program string

// Main builds gorun and the package in the current directory, runs the tests
// and removes what it built. It is the TestMain of an example.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := run(m, dir)
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(m *testing.M, dir string) int {
	gorun, program = filepath.Join(dir, "gorun"), filepath.Join(dir, "program")
	for _, build := range [][]string{{gorun, "github.com/gorun-hpc/gorun/cmd/gorun"}, {program, "."}} {
		out, err := exec.Command("go", "build", "-o", build[0], build[1]).CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "go build %s: %v\n%s", build[1], err, out)
			return 1
		}
	}
	return m.Run()
}

// Run starts the example with np ranks and returns what it wrote on stdout. It
// fails the test when the job does.
func Run(t *testing.T, np int, args ...string) string {
	t.Helper()
	return RunWith(t, np, nil, args...)
}

// RunWith is Run with flags of gorun.
func RunWith(t *testing.T, np int, flags []string, args ...string) string {
	t.Helper()
	return RunCode(t, 0, np, flags, args...)
}

// RunCode is RunWith of a job that ends with an exit code.
func RunCode(t *testing.T, code, np int, flags []string, args ...string) string {
	t.Helper()
	out, _ := RunBoth(t, code, np, flags, args...)
	return out
}

// RunBoth is RunCode that returns what the job wrote on stderr, too.
func RunBoth(t *testing.T, code, np int, flags []string, args ...string) (out, errors string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	all := append([]string{"-np", strconv.Itoa(np)}, flags...)
	cmd := exec.CommandContext(ctx, gorun, append(append(all, program), args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != code || err != nil && code == 0 {
		t.Fatalf("%d ranks: %v, not code %d\nstdout:\n%s\nstderr:\n%s", np, err, code, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

// Usage fails the test unless ranks that are asked for their flags answer once
// together, and a wrong flag ends the job with the code of flag.Parse.
func Usage(t *testing.T) {
	t.Helper()
	out, errors := RunBoth(t, 0, 3, nil, "-h")
	if n := strings.Count(errors, "Usage of "); n != 1 || out != "" {
		t.Fatalf("usage %d times\nstdout:\n%s\nstderr:\n%s", n, out, errors)
	}
	_, errors = RunBoth(t, 2, 3, nil, "-wrong")
	if !strings.Contains(errors, "flag provided but not defined: -wrong\n") {
		t.Fatalf("a wrong flag:\n%s", errors)
	}
}
