package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
)

// options are the command line.
type options struct {
	rounds     int
	only       *regexp.Regexp
	quick, ucx bool
	nice       int
	out        string
}

func main() {
	o := options{}
	flag.IntVar(&o.rounds, "rounds", 5, "`number` of rounds")
	flag.BoolVar(&o.quick, "quick", false, "few iterations and ranks: tests the comparison, measures nothing")
	flag.BoolVar(&o.ucx, "ucx", false, "run Open MPI and MPICH over UCX too")
	flag.IntVar(&o.nice, "nice", 0, "run all systems with this `niceness`; a negative one (root) helps on a machine with other load")
	flag.StringVar(&o.out, "out", "", "`directory` for results (default: bench/results of the module)")
	only := flag.String("only", "", "only rows whose name matches this `expression`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if o.only, err = regexp.Compile(*only); err == nil {
		err = compare(ctx, &o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// compare builds everything, measures and writes the results.
func compare(ctx context.Context, o *options) error {
	if o.out == "" {
		module, err := moduleDir()
		if err != nil {
			return err
		}
		o.out = filepath.Join(module, "bench", "results")
	}
	dir, err := os.MkdirTemp("", "gorun-peers")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	compared := false
	for _, p := range plans() {
		c := &comparison{plan: p, dir: dir, rounds: o.rounds, quick: o.quick, nice: o.nice, log: log.New(os.Stderr, "", 0), result: newResult(o.rounds)}
		c.result.Quick = o.quick
		c.choose(o.only)
		if len(c.rows) == 0 {
			continue
		}
		compared = true
		if err := c.build(ctx, o.ucx); err != nil {
			return err
		}
		err = errors.Join(err, c.run(ctx), c.report(o.out))
	}
	if !compared {
		return errors.New("no row matches -only")
	}
	return err
}

// choose drops the rows that do not match and the measurements nobody needs.
// Curves belong to no row; they stay when everything does.
func (c *comparison) choose(only *regexp.Regexp) {
	if only.String() == "" {
		return
	}
	c.rows = slices.DeleteFunc(c.rows, func(r row) bool { return !only.MatchString(r.name) })
	needed := map[string]bool{}
	for _, r := range c.rows {
		for _, key := range []string{r.measurement, r.theirs, r.against} {
			needed[measurementOf(key)] = true
		}
	}
	c.measurements = slices.DeleteFunc(c.measurements, func(m measurement) bool { return !needed[m.key] })
}

// report prints the table and writes it, the samples and the plots.
func (c *comparison) report(out string) error {
	c.result.Table = c.lines()
	text := c.text(c.result.Table)
	if c.quick {
		text += "\nA quick run tests the comparison; its figures mean nothing.\n"
	}
	if problems := c.problems(); problems != "" {
		text += "\n" + problems
	}
	fmt.Print(text)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(out, c.name+".md"), []byte(text), 0o644),
		c.result.write(filepath.Join(out, c.name+".json")),
		c.plots(out),
	)
}
