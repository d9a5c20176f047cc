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

// module is the import path below which the programs lie.
const module = "github.com/gorun-hpc/gorun/"

// programs are what jobs run, with their arguments.
var programs = [][]string{
	{"latency", "-m", "8,64,1K,8K,64K,1M"},
	{"bandwidth", "-m", "8,1K,8K,64K,1M,4M"},
	{"messagerate", "-m", "8,64,1K"},
}

// jobs runs programs of two ranks.
type jobs struct {
	options *options
	// bin is where the programs are, made says that close removes it.
	bin  string
	made bool
}

// build makes sure that the programs are there.
func (j *jobs) build(ctx context.Context) error {
	if j.bin != "" {
		return nil
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
		return fmt.Errorf("go %s: %w\n%s(it needs the module's directory; -bin DIR takes programs that are built)", strings.Join(args, " "), err, text)
	}
	return nil
}

// command is that of a job of a program over a device.
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

// run runs the programs over a device, and writes what they print.
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

// relative are arguments without the directory of the programs.
func relative(args []string, bin string) []string {
	short := make([]string, len(args))
	for i, a := range args {
		short[i] = strings.TrimPrefix(a, bin+string(filepath.Separator))
	}
	return short
}

// execute runs a command within the limit of a measurement, and returns what it has printed.
func execute(ctx context.Context, o *options, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	text, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("ended after %v: %w", o.limit, ctx.Err())
	}
	return string(text), err
}

// close removes what build has made.
func (j *jobs) close() {
	if j.made {
		_ = os.RemoveAll(j.bin) // it is in a directory for temporary files
	}
}
