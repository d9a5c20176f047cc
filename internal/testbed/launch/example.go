package launch

import (
	"strconv"
	"strings"
	"testing"
)

// Example runs the program of the package under test with np ranks, and returns its standard
// output. It fails the test if the job fails.
func Example(t *testing.T, np int, args ...string) string {
	t.Helper()
	return ExampleWith(t, np, nil, args...)
}

// ExampleWith does the same as Example, with additional flags of gorun.
func ExampleWith(t *testing.T, np int, flags []string, args ...string) string {
	t.Helper()
	out, _ := ExampleEnds(t, 0, np, flags, args...)
	return out
}

// ExampleEnds does the same as ExampleWith for a job that must end with the given exit code. It also returns
// the standard error of the job.
func ExampleEnds(t *testing.T, code, np int, flags []string, args ...string) (out, errors string) {
	t.Helper()
	command := append([]string{Gorun(t), "-np", strconv.Itoa(np)}, flags...)
	r := Run(t, nil, append(append(command, Build(t, "program", ".")), args...)...)
	if r.Code != code {
		t.Fatalf("%d ranks: code %d, not %d\nstdout:\n%s\nstderr:\n%s", np, r.Code, code, r.Out, r.Errors)
	}
	return r.Out, r.Errors
}

// Usage checks the command line of the program under test with three ranks. With -h, the job must
// print the usage once, not once per rank. With an undefined flag or a superfluous argument, it must
// end with the exit code of flag.Parse.
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
