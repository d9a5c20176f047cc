package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorun-hpc/gorun/bench/internal/distance"
)

// options contains the flags of the command line.
type options struct {
	rounds     int
	part       []string
	only       *regexp.Regexp
	quick, ucx bool
	draw       bool
	resume     bool
	limit      time.Duration
	nice       int
	near       time.Duration
	out        string
	npb        string
}

func main() {
	o := options{}
	flag.IntVar(&o.rounds, "rounds", 5, "`number` of rounds")
	flag.BoolVar(&o.quick, "quick", false, "few iterations and ranks: tests the comparison, measures nothing")
	flag.BoolVar(&o.ucx, "ucx", false, "run Open MPI and MPICH over UCX too")
	flag.BoolVar(&o.draw, "draw", false, "measure nothing: draw the pictures again from the stored samples")
	flag.IntVar(&o.nice, "nice", 0, "run all systems with this `niceness`; a negative value, which only root may set, helps on a machine with other load")
	flag.DurationVar(&o.near, "near", 0, "start a run only when a cache line takes at most this `time` from the first processor to the second and back, and repeat the run if it takes longer afterwards (on a virtual machine this time varies)")
	flag.StringVar(&o.out, "out", "", "`directory` for results (default: bench/results of the tree; with -only or -quick none, because the results are then incomplete)")
	flag.BoolVar(&o.resume, "resume", false, "continue the stored results: measure what is missing in them, with -only a part of it, and write them again")
	flag.DurationVar(&o.limit, "for", 0, "stop after this `time` and write the results so far; needs -resume")
	flag.StringVar(&o.npb, "npb", "", "`directory` of the NAS reference codes for the part npb, built: openmpi/bin/ft.A.x, mpich/bin/ft.A.x and so on")
	part := flag.String("part", strings.Join(partNames(false), ","), "`comparisons` to make; all: "+strings.Join(partNames(true), ","))
	only := flag.String("only", "", "only rows whose name matches this `expression`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := o.complete(flag.Args(), *part, *only)
	switch {
	case err != nil:
	case o.draw:
		err = drawStored(&o)
	default:
		err = compare(ctx, &o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// partNames returns the names of the comparisons. If long is false, it leaves out those of long plans.
func partNames(long bool) (names []string) {
	for _, p := range plans() {
		if long || !p.long {
			names = append(names, p.name)
		}
	}
	return names
}

// complete validates the command line and chooses the directory of the results.
func (o *options) complete(arguments []string, part, only string) error {
	if len(arguments) > 0 {
		return fmt.Errorf("unexpected argument %q", arguments[0])
	}
	if o.rounds < 1 {
		return fmt.Errorf("-rounds %d: at least one", o.rounds)
	}
	if o.resume && (o.draw || o.quick) || o.limit > 0 && !o.resume {
		return errors.New("-for needs -resume; -resume cannot be combined with -draw or -quick")
	}
	for name := range strings.SplitSeq(part, ",") {
		if all := partNames(true); !slices.Contains(all, name) {
			return fmt.Errorf("-part %q: there are %s", name, strings.Join(all, ", "))
		}
		o.part = append(o.part, name)
	}
	if o.near > 0 {
		if err := distance.Check(); err != nil {
			return err
		}
	}
	if o.npb == "" && slices.Equal(o.part, []string{npbPlan().name}) {
		return errors.New("-part npb needs -npb, the directory of the reference codes")
	}
	var err error
	if o.only, err = regexp.Compile(only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if o.out != "" || !o.draw && !o.resume && (only != "" || o.quick) {
		return nil
	}
	root, err := moduleDir()
	o.out = filepath.Join(root, "bench", "results")
	return err
}

// compare builds the programs, runs the measurements and writes the results.
func compare(ctx context.Context, o *options) error {
	dir, err := os.MkdirTemp("", "gorun-peers")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if o.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.limit, errLimit)
		defer cancel()
	}
	compared := false
	for _, p := range plans() {
		c := &comparison{plan: p, dir: dir, rounds: o.rounds, quick: o.quick, nice: o.nice, distance: distance.New(o.near), references: o.npb, log: log.New(os.Stderr, "", 0), result: newResult(o.rounds)}
		c.result.Quick, c.result.Machine.Distance = o.quick, c.distance.String()
		if p.references && o.npb == "" {
			continue
		}
		c.choose(o.only)
		if len(c.rows)+len(c.curves) == 0 || !slices.Contains(o.part, p.name) {
			continue
		}
		compared = true
		err := c.carryOut(ctx, o, &p)
		switch {
		case err == nil:
		case errors.Is(err, errLimit):
			c.log.Printf("part %s: %v; -resume measures what is missing", p.name, err)
		case errors.Is(err, errHosts) && len(o.part) > 1:
			c.log.Printf("%v: no part %s", err, p.name)
		default:
			return err
		}
	}
	if !compared {
		return errors.New("no row matches -only")
	}
	return nil
}

// errLimit is the cause of the end of the context when the time of -for is over.
var errLimit = errors.New("the time of -for is over")

// carryOut builds the programs of one comparison, runs the measurements and writes the results. whole is the plan
// before -only restricted it. If -for has ended the comparison, the error is errLimit.
func (c *comparison) carryOut(ctx context.Context, o *options, whole *plan) (err error) {
	if o.resume {
		if err := c.resume(o.out); err != nil {
			return err
		}
	}
	if c.hosts > 0 {
		if c.ranksOn, err = openHosts(c.hosts); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.ranksOn.Close()) }()
	}
	if err := c.build(ctx, o.ucx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // a peer may be missing because the context has ended
	}
	return c.conclude(o, whole, c.run(ctx))
}

// conclude writes the results after run has returned stopped. Without -resume, it does not write them if stopped
// is an error. It returns stopped, or the error of writing.
func (c *comparison) conclude(o *options, whole *plan, stopped error) error {
	if o.resume {
		c.plan = *whole // the report also has the stored results of the rows that were not selected
		c.drop()
	} else if stopped != nil {
		return stopped // results of an interrupted run do not replace complete ones
	}
	if err := c.report(o.out); err != nil {
		return err
	}
	return stopped
}

// resume loads the samples and problems of earlier runs from the stored results in the directory out. It does
// nothing if there are no stored results.
func (c *comparison) resume(out string) error {
	name := filepath.Join(out, c.name+".json")
	before, err := stored(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case before.Machine.Distance != c.result.Machine.Distance:
		return fmt.Errorf("%s: measured with another -near: it cannot be resumed", name)
	case before.Quick || before.Machine.CPU != c.result.Machine.CPU || before.Machine.Processors != c.result.Machine.Processors:
		return fmt.Errorf("%s: of another machine, %s, or of a quick run: it cannot be resumed", name, before.Machine.CPU)
	}
	c.result.Samples, c.result.Problems = before.Samples, before.Problems
	if c.result.Problems == nil {
		c.result.Problems = map[string]map[string]string{}
	}
	return nil
}

// choose restricts the comparison to the rows that match -only, if the user has given it. It drops the other rows
// and the measurements that no remaining row needs. It also drops all curves, because a curve belongs to no row.
func (c *comparison) choose(only *regexp.Regexp) {
	if only.String() == "" {
		return
	}
	c.rows = slices.DeleteFunc(slices.Clone(c.rows), func(r row) bool { return !only.MatchString(r.name) })
	c.curves = nil
	needed := map[string]bool{}
	for _, r := range c.rows {
		for _, key := range []string{r.measurement, r.theirs, r.against} {
			needed[measurementOf(key)] = true
		}
	}
	c.measurements = slices.DeleteFunc(slices.Clone(c.measurements), func(m measurement) bool { return !needed[m.key] })
}

// drop drops the rows whose measurement gorun has not run yet.
func (c *comparison) drop() {
	c.rows = slices.DeleteFunc(slices.Clone(c.rows), func(r row) bool {
		key := measurementOf(r.measurement)
		return c.result.rounds(key, gorun) == 0 && c.result.Problems[key][gorun] == ""
	})
}

// report prints the tables. If out names a directory, it writes the tables, the samples and the
// pictures there.
func (c *comparison) report(out string) error {
	var paragraphs []string
	add := func(text string) {
		if text != "" {
			paragraphs = append(paragraphs, text)
		}
	}
	if len(c.rows) > 0 {
		c.result.Table = c.lines()
		add(c.text(c.result.Table))
	}
	for i := range c.curves {
		add(c.curveText(&c.curves[i]))
	}
	if c.quick {
		add("A quick run tests the comparison; its figures mean nothing.\n")
	}
	if c.summary {
		add(summary(c.result.Table))
	}
	add(c.result.Machine.text())
	add(c.problems())
	text := strings.Join(paragraphs, "\n")
	fmt.Print(text)
	if out == "" {
		return nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(out, c.name+".md"), []byte(text), 0o644),
		c.result.write(filepath.Join(out, c.name+".json")),
		c.draw(out),
	)
}
