package launch

import (
	"strconv"
	"strings"
	"testing"
)

// Example runs the program of the package under test with np ranks and returns what it
// wrote on stdout. It fails the test when the job does.
func Example(t *testing.T, np int, args ...string) string {
	t.Helper()
	return ExampleWith(t, np, nil, args...)
}

// ExampleWith is Example with flags of gorun.
func ExampleWith(t *testing.T, np int, flags []string, args ...string) string {
	t.Helper()
	out, _ := ExampleEnds(t, 0, np, flags, args...)
	return out
}

// ExampleEnds is ExampleWith of a job that ends with an exit code. It returns what the
// job wrote on stderr, too.
func ExampleEnds(t *testing.T, code, np int, flags []string, args ...string) (out, errors string) {
	t.Helper()
	command := append([]string{Gorun(t), "-np", strconv.Itoa(np)}, flags...)
	r := Run(t, nil, append(append(command, Build(t, "program", ".")), args...)...)
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
	out, errors := ExampleEnds(t, 0, 3, nil, "-h")
	if n := strings.Count(errors, "Usage of "); n != 1 || out != "" {
		t.Fatalf("usage %d times\nstdout:\n%s\nstderr:\n%s", n, out, errors)
	}
	_, errors = ExampleEnds(t, 2, 3, nil, "-wrong")
	if !strings.Contains(errors, "flag provided but not defined: -wrong\n") {
		t.Fatalf("a wrong flag:\n%s", errors)
	}
	out, errors = ExampleEnds(t, 2, 3, nil, "stray")
	if n := strings.Count(errors, "\nUsage of "); n > 1 || out != "" || !strings.Contains(errors, "unexpected argument: stray\nUsage of ") {
		t.Fatalf("an argument that is no flag:\nstdout:\n%s\nstderr:\n%s", out, errors)
	}
}
