package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/internal/mutation/breaks"
)

// timeoutDefault is the time limit for the tests of one package. The tests of the slowest package
// take a minute.
const timeoutDefault = 3 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root, err := moduleRoot(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(2)
	}
	status := run(ctx, root, os.Args[1:], os.Stdout, os.Stderr)
	os.Exit(status)
}

// moduleRoot returns the root directory of the module that contains the working directory.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if !filepath.IsAbs(file) || filepath.Base(file) != "go.mod" {
		return "", errors.New("the working directory is in no module")
	}
	return filepath.Dir(file), nil
}

// options has the settings of the command line.
type options struct {
	verbose  bool
	timeout  time.Duration
	only     *regexp.Regexp // nil for every break
	by       string         // the package whose tests run, empty for the package of the break
	packages []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("mutation", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.verbose, "v", false, "print the output of the tests with each break")
	flags.DurationVar(&o.timeout, "timeout", timeoutDefault, "time `limit` for the tests of one package, with one break")
	flags.Func("only", "try only the breaks whose description matches this regular `expression`", func(s string) (err error) {
		o.only, err = regexp.Compile(s)
		return err
	})
	flags.StringVar(&o.by, "by", "", "run the tests of this `package` instead of the package's own")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for _, dir := range flags.Args() {
		o.packages = append(o.packages, filepath.ToSlash(filepath.Clean(dir)))
	}
	return o, nil
}

// run executes the command in the module at root and returns the exit code.
func run(ctx context.Context, root string, args []string, stdout, stderr io.Writer) int {
	failed := func(err error, status int) int {
		_, _ = fmt.Fprintln(stderr, "mutation:", err)
		return status
	}
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	if len(o.packages) == 0 {
		if o.packages, err = breaks.Packages(root); err != nil {
			return failed(err, 2)
		}
	}
	scratch, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return failed(err, 2)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	r := report{
		options: o, out: stdout,
		trial: breaks.Trial{Root: root, Scratch: scratch, Timeout: o.timeout, By: o.by},
	}
	for _, pkg := range o.packages {
		if err := r.try(ctx, pkg); err != nil {
			return failed(err, 1)
		}
	}
	r.summarize()
	if r.open() {
		return 1
	}
	return 0
}
