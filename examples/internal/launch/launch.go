// Package launch starts programs of the module through gorun, for the tests of
// the examples.
package launch

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gorun-hpc/gorun/internal/testbed/launch"
)

// Main runs the tests and removes what they built. It is the TestMain of an example.
func Main(m *testing.M) {
	code := m.Run()
	launch.Clean()
	os.Exit(code)
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
	command := append([]string{launch.Gorun(t), "-np", strconv.Itoa(np)}, flags...)
	r := launch.Run(t, nil, append(append(command, launch.Build(t, "program", ".")), args...)...)
	if r.Code != code {
		t.Fatalf("%d ranks: code %d, not %d\nstdout:\n%s\nstderr:\n%s", np, r.Code, code, r.Out, r.Errors)
	}
	return r.Out, r.Errors
}

// Usage fails the test unless ranks that are asked for their flags answer once
// together, and a wrong flag or an argument that is none ends the job with the code
// of flag.Parse.
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
	out, errors = RunBoth(t, 2, 3, nil, "stray")
	if n := strings.Count(errors, "\nUsage of "); n > 1 || out != "" || !strings.Contains(errors, "unexpected argument: stray\nUsage of ") {
		t.Fatalf("an argument that is no flag:\nstdout:\n%s\nstderr:\n%s", out, errors)
	}
}
