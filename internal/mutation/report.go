package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gorun-hpc/gorun/internal/mutation/breaks"
)

// report tries breaks and prints the results.
type report struct {
	options
	out    io.Writer
	trial  breaks.Trial
	shares []share
}

// share counts the verdicts on the breaks of one package.
type share struct {
	pkg      string
	verdicts [breaks.DoesNotBuild + 1]int
}

// caught returns how many breaks the tests caught, and how many breaks could be built.
func (s *share) caught() (n, of int) {
	n = s.verdicts[breaks.Caught] + s.verdicts[breaks.TimedOut]
	return n, n + s.verdicts[breaks.NotCaught]
}

func (r *report) printf(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format, args...) }

// try runs the tests on the breaks of a package, after running them without a break.
func (r *report) try(ctx context.Context, pkg string) error {
	all, err := breaks.Load(r.trial.Root, pkg)
	if err != nil {
		return err
	}
	chosen := all[:0]
	for _, b := range all {
		if r.only == nil || r.only.MatchString(b.Name) {
			chosen = append(chosen, b)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	for _, race := range []bool{false, true} {
		if !slices.ContainsFunc(chosen, func(b breaks.Break) bool { return b.Race() == race }) {
			continue
		}
		whole, err := r.trial.Unbroken(ctx, pkg, race)
		if err != nil {
			return err
		}
		if whole.Verdict != breaks.NotCaught {
			return fmt.Errorf("the tests of %s fail without a break, %s:\n%s", pkg, whole.Test, whole.Output)
		}
	}
	r.printf("%s\n", pkg)
	s := share{pkg: pkg}
	for i := range chosen {
		result, err := r.trial.Run(ctx, &chosen[i])
		if err != nil {
			return err
		}
		s.verdicts[result.Verdict]++
		r.printf("  %-14s %6.1f s  %-40s  %s\n", result.Verdict, result.Took.Seconds(), result.Test, chosen[i].Name)
		if r.verbose || result.Verdict == breaks.DoesNotBuild {
			r.printf("\t%s\n", strings.ReplaceAll(strings.TrimSpace(result.Output), "\n", "\n\t"))
		}
	}
	r.shares = append(r.shares, s)
	return nil
}

// summarize prints the share of caught breaks of each package and of all packages.
func (r *report) summarize() {
	r.printf("caught\n")
	total := share{pkg: "in all"}
	for i := range r.shares {
		r.line(&r.shares[i])
		for v, n := range r.shares[i].verdicts {
			total.verdicts[v] += n
		}
	}
	r.line(&total)
}

func (r *report) line(s *share) {
	n, of := s.caught()
	percent := 0
	if of > 0 {
		percent = 100 * n / of
	}
	r.printf("  %-36s %3d of %3d  %3d %%", s.pkg, n, of, percent)
	if late := s.verdicts[breaks.TimedOut]; late > 0 {
		r.printf(", %d by the time limit", late)
	}
	if unbuilt := s.verdicts[breaks.DoesNotBuild]; unbuilt > 0 {
		r.printf(", %d more do not build", unbuilt)
	}
	r.printf("\n")
}

// open reports whether a break was not caught or did not build.
func (r *report) open() bool {
	for _, s := range r.shares {
		if s.verdicts[breaks.NotCaught] > 0 || s.verdicts[breaks.DoesNotBuild] > 0 {
			return true
		}
	}
	return false
}
