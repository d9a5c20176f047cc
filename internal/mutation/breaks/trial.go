package breaks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Verdict is the result of a package's tests on a break.
type Verdict int

// The verdicts. TimedOut also means that the tests have caught the break, because without the break they end
// within the time limit.
const (
	Caught Verdict = iota
	TimedOut
	NotCaught
	DoesNotBuild
)

// String returns the text of the verdict in the report.
func (v Verdict) String() string {
	return [...]string{"caught", "timed out", "NOT CAUGHT", "does not build"}[v]
}

// Trial runs the tests of packages of one module.
type Trial struct {
	Root    string        // root directory of the module
	Scratch string        // directory for changed files, which only this trial uses
	Timeout time.Duration // time limit for the tests of a package
	By      string        // the package whose tests run, empty for the package of the break
}

// Result is the result of one run of a package's tests.
type Result struct {
	Verdict Verdict
	Test    string // the first test that failed or, if no test failed, the test that was running at the end
	Output  string // output of the tests and of the compiler
	Took    time.Duration
}

// grace is the time that the go command gets for building and reporting, in addition to the tests' time.
const grace = 5 * time.Minute

// Unbroken runs the tests of a package without a break, under the race detector if race is true.
// The verdict is NotCaught if all tests pass.
func (t *Trial) Unbroken(ctx context.Context, pkg string, race bool) (Result, error) {
	return t.run(ctx, pkg, race, "")
}

// Run runs the tests on a break.
func (t *Trial) Run(ctx context.Context, b *Break) (Result, error) {
	files, err := b.Apply(t.Root)
	if err != nil {
		return Result{}, err
	}
	overlay, err := t.overlay(files)
	if err != nil {
		return Result{}, err
	}
	return t.run(ctx, b.Package, b.Race(), overlay)
}

// overlay writes the files into the scratch directory and returns the name of the overlay
// file for the go command.
func (t *Trial) overlay(files map[string]string) (string, error) {
	replace := map[string]string{}
	for name, text := range files {
		changed := filepath.Join(t.Scratch, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(t.Root, name)] = changed
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(t.Scratch, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// run runs the tests of a package. overlay is the name of the overlay file, or empty for a run without an
// overlay. The processes of the tests form a process group, which run kills before it returns.
func (t *Trial) run(ctx context.Context, pkg string, race bool, overlay string) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout+grace)
	defer cancel()
	args := []string{"test", "-json", "-short", "-failfast", "-vet=off", "-timeout=" + t.Timeout.String()}
	env := os.Environ()
	if race {
		args = append(args, "-race")
		env = append(env, "CGO_ENABLED=1") // the race detector needs cgo
	}
	if overlay != "" {
		args = append(args, "-count=1")
		// The overlay is set in the environment, so that it also applies to programs that tests build.
		env = append(env, strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	var out bytes.Buffer
	if t.By != "" {
		pkg = t.By
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+pkg)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.Root, env, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for processes that have left the group and hold the output pipe open
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Result{}, err
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // processes that the tests have left behind
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return Result{}, cause
	}
	r := read(out.Bytes(), err != nil)
	r.Took = time.Since(began)
	if ctx.Err() != nil {
		r.Verdict = TimedOut
	}
	if err != nil && r.Output == "" {
		return Result{}, fmt.Errorf("go test of %s: %w", pkg, err)
	}
	return r, nil
}

// event is a line of go test -json.
type event struct {
	Action      string
	Test        string
	Output      string
	FailedBuild string
}

// read parses the output of go test -json. failed reports whether the go command has failed.
func read(text []byte, failed bool) Result {
	r := Result{Verdict: NotCaught}
	if failed {
		r.Verdict = Caught
	}
	var output strings.Builder
	first, running := "", ""
	for line := range bytes.Lines(text) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			output.Write(line) // printed by the go command itself
			continue
		}
		output.WriteString(e.Output)
		switch {
		case e.Action == "fail" && e.FailedBuild != "":
			r.Verdict = DoesNotBuild
		case e.Action == "fail" && e.Test != "" && first == "":
			first = e.Test
		case e.Action == "run":
			running = e.Test
		case strings.HasPrefix(e.Output, "panic: test timed out after"):
			r.Verdict = TimedOut
		}
	}
	r.Output = output.String()
	switch {
	case r.Verdict != Caught && r.Verdict != TimedOut:
	case first != "":
		r.Test = first
	case running != "":
		r.Test = running
	default:
		r.Test = "the package" // most likely its TestMain has failed
	}
	return r
}
