package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is the beginning of the import paths of the programs.
const module = "github.com/gorun-hpc/gorun/"

// programs are the programs that jobs run, with their arguments.
var programs = [][]string{
	{"latency", "-m", "8,64,1K,8K,64K,1M"},
	{"bandwidth", "-m", "8,1K,8K,64K,1M,4M"},
	{"messagerate", "-m", "8,64,1K"},
}

// jobs runs the programs, each in a job of two ranks.
type jobs struct {
	options *options
	// bin is the directory of the built programs, "" before the first build. If made is true, build has
	// made it and close removes it. failed is the error of go build.
	bin    string
	made   bool
	failed error
}

// build builds gorun and the programs in a temporary directory. If the user has given a directory with the
// programs, build builds nothing. A call after go build has run returns the result of that run.
func (j *jobs) build(ctx context.Context) error {
	if j.bin != "" {
		return j.failed
	}
	if j.options.bin != "" {
		j.bin = j.options.bin
		return nil
	}
	dir, err := os.MkdirTemp("", "adapters")
	if err != nil {
		return err
	}
	j.bin, j.made = dir, true
	args := []string{"build", "-o", dir, module + "cmd/gorun"}
	for _, p := range programs {
		args = append(args, module+"bench/"+p[0])
	}
	if text, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		j.failed = fmt.Errorf("go %s: %w\n%s(run this in a directory of the gorun module, or give a directory with the built programs by -bin DIR)",
			strings.Join(args, " "), err, text)
	}
	return j.failed
}

// command returns the command that starts a job of a program over a device.
func (j *jobs) command(device string, program []string) []string {
	o := j.options
	c := []string{filepath.Join(j.bin, "gorun"), "-np", "2", "-transport", "rdma", "-rdma-device", device}
	if o.hosts != "" {
		c = append(c, "-host", o.hosts)
	}
	if o.rsh != "" {
		c = append(c, "-rsh", o.rsh)
	}
	c = append(c, filepath.Join(j.bin, program[0]))
	c = append(c, program[1:]...)
	if o.quick {
		c = append(c, "-i", "3", "-x", "1")
	}
	return c
}

// run runs the programs over a device, and writes their output.
func (j *jobs) run(ctx context.Context, out *page, device string) error {
	if err := j.build(ctx); err != nil {
		out.say("\nno job was run: %v\n", err)
		return err
	}
	var errs []error
	for _, p := range programs {
		c := j.command(device, p)
		out.say("\ngorun %s:\n\n", strings.Join(relative(c[1:], j.bin), " "))
		text, err := execute(ctx, j.options, c...)
		out.say("%s", indented(text))
		if err != nil {
			out.say("  failed: %v\n", err)
			errs = append(errs, fmt.Errorf("%s: %w", p[0], err))
		}
	}
	return errors.Join(errs...)
}

// relative returns the arguments with the directory bin removed from the names of programs.
func relative(args []string, bin string) []string {
	short := make([]string, len(args))
	for i, a := range args {
		short[i] = strings.TrimPrefix(a, bin+string(filepath.Separator))
	}
	return short
}

// execute runs a command within the time limit of a measurement, and returns its output.
func execute(ctx context.Context, o *options, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	text, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("ended at the time limit of %v: %w", o.limit, err)
	}
	return string(text), err
}

// close removes the directory that build has made.
func (j *jobs) close() {
	if j.made {
		_ = os.RemoveAll(j.bin) // an error only leaves temporary files behind
	}
}
