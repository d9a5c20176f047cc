package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Module is the import path below which the programs lie.
const Module = "github.com/gorun-hpc/gorun"

// grace is how long a job that was told to end may take before it is killed.
const grace = 3 * time.Second

// ErrTimeout says that a job was ended because it took too long.
var ErrTimeout = errors.New("launch: the job did not end in time")

// Build builds packages of the module that the working directory is in, such as
// "cmd/gorun", into a directory. The binaries have the packages' last names.
func Build(dir string, packages ...string) error { return BuildIn(".", dir, packages...) }

// BuildIn is Build for a program of another module: root is a directory of the one
// that the packages are of, whose go.mod then chooses what they are built with.
func BuildIn(root, dir string, packages ...string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	args := make([]string, 0, 3+len(packages))
	args = append(args, "build", "-o", dir+string(os.PathSeparator))
	for _, p := range packages {
		args = append(args, Module+"/"+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Output is what a job left behind.
type Output struct {
	Stdout, Stderr string
	Wall           time.Duration // from start to end
}

// Run runs a command with additional environment and returns its output. When
// it takes longer than timeout it is told to end, then killed with all processes
// it has started, and the error is ErrTimeout.
func Run(ctx context.Context, timeout time.Duration, env []string, command ...string) (*Output, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	mark := newMark()
	cmd.Env = append(append(os.Environ(), env...), mark)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	start := time.Now()
	err := cmd.Run()
	out := &Output{Stdout: stdout.String(), Stderr: stderr.String(), Wall: time.Since(start)}
	if err == nil {
		return out, nil
	}
	killStray(mark)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return out, fmt.Errorf("%w: %s: %s", ErrTimeout, timeout, strings.Join(command, " "))
	}
	return out, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, tail(out.Stderr))
}

// tail returns the last lines of a text.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
