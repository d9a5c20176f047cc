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

// The verdicts. A test that does not end within the time given caught the break, too,
// because it ends without it.
const (
	Caught Verdict = iota
	TimedOut
	NotCaught
	DoesNotBuild
)

// String returns the verdict as the report has it.
func (v Verdict) String() string {
	return [...]string{"caught", "timed out", "NOT CAUGHT", "does not build"}[v]
}

// Trial runs tests of one module.
type Trial struct {
	Root    string        // of the module
	Scratch string        // a directory for changed files, of this trial alone
	Timeout time.Duration // for the tests of a package
	By      string        // the package whose tests run, empty for the package of the break
}

// Result is the end of one run of a package's tests.
type Result struct {
	Verdict Verdict
	Test    string // the first that failed, or that was running when all ended
	Output  string // of the tests, or of the compiler
	Took    time.Duration
}

// grace is what the go command gets on top of the tests' time, to build and to report.
const grace = 5 * time.Minute

// Unbroken runs the tests of a package without any break, under the race detector or
// not, and reports NotCaught if all is well.
func (t *Trial) Unbroken(ctx context.Context, pkg string, race bool) (Result, error) {
	return t.run(ctx, pkg, race, "")
}

// Run runs the package's tests on a break.
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

// run runs the tests of a package with an overlay, or without one if it is empty. The
// tests' processes form a group, which does not outlive the call.
func (t *Trial) run(ctx context.Context, pkg string, race bool, overlay string) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout+grace)
	defer cancel()
	args := []string{"test", "-json", "-short", "-failfast", "-vet=off", "-timeout=" + t.Timeout.String()}
	env := os.Environ()
	if race {
		args = append(args, "-race")
		env = append(env, "CGO_ENABLED=1") // which the detector needs
	}
	if overlay != "" {
		args = append(args, "-count=1")
		// In the environment, so that it also applies to programs that tests build.
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
	cmd.WaitDelay = time.Second // for processes that left the group and hold the pipe
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Result{}, err
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the tests left behind, if anything
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

// read converts the output of go test into a result.
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
			output.Write(line) // of the go command itself
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
		r.Test = "the package" // its TestMain, most likely
	}
	return r
}
