package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// verdict is the result of a program under gorun -check.
type verdict struct {
	program
	correct bool
	code    int
	report  string // standard error
	// noted reports whether the report contains a note, which does not make the job fail.
	noted bool
}

// programTimeout is the time after which a program that hangs is killed.
const programTimeout = 2 * time.Minute

// judge runs a program under gorun -check. self is the path of this binary.
func judge(ctx context.Context, gorun, self string, p program, correct bool) (*verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	args := append([]string{"-np", strconv.Itoa(p.size()), "-check", "-timeout", "60s"}, p.flags...)
	cmd := exec.CommandContext(ctx, gorun, append(args, self, "-program", p.name)...)
	var report bytes.Buffer
	cmd.Stderr = &report
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return nil, fmt.Errorf("%s: %w\n%s", p.name, errors.Join(err, ctx.Err()), report.Bytes())
	}
	return newVerdict(p, correct, cmd.ProcessState.ExitCode(), report.String()), nil
}

func newVerdict(p program, correct bool, code int, report string) *verdict {
	return &verdict{program: p, correct: correct, code: code, report: report, noted: strings.Contains(report, "check: note: ")}
}

// alarmed reports whether the job has failed, as it does if gorun reports a mistake by more than a note.
func (v *verdict) alarmed() bool { return v.code != 0 }

// found reports whether the mistake was reported. A mistake is reported if the report contains all parts of
// finds in their order, and if the job failed or the report contains a note.
func (v *verdict) found() bool {
	rest := v.report
	for part := range strings.SplitSeq(v.finds, gap) {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			return false
		}
		rest = after
	}
	return v.finds != "" && (v.alarmed() || v.noted)
}

// located reports whether the report contains a line of the program's function.
func (v *verdict) located() bool {
	file, first := v.begins()
	next := after(file, first)
	for _, m := range regexp.MustCompile(regexp.QuoteMeta(file)+`:(\d+)`).FindAllStringSubmatch(v.report, -1) {
		if line, err := strconv.Atoi(m[1]); err == nil && line >= first && line < next {
			return true
		}
	}
	return false
}

// after returns the line at which the next program of a file begins.
func after(file string, line int) int {
	next := 1 << 30
	for _, f := range families {
		for _, p := range f.programs {
			if other, begins := p.begins(); other == file && begins > line {
				next = min(next, begins)
			}
		}
	}
	return next
}

// judgeAll judges the programs of the families, several at a time, and returns the verdicts in the
// order of the programs.
func judgeAll(ctx context.Context, gorun, self string, list []family) ([]*verdict, error) {
	var verdicts []*verdict
	var errs []error
	var mu sync.Mutex // guards verdicts and errs
	var running sync.WaitGroup
	// The program runs more jobs than processors at the same time, because most jobs that take long only wait
	// until gorun reports a deadlock.
	places := make(chan struct{}, 8*goruntime.NumCPU())
	for _, f := range list {
		for _, p := range f.programs {
			places <- struct{}{}
			running.Go(func() {
				v, err := judge(ctx, gorun, self, p, f.origin == "")
				<-places
				mu.Lock()
				defer mu.Unlock()
				verdicts, errs = append(verdicts, v), append(errs, err)
			})
		}
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	order := make(map[string]int)
	for _, f := range list {
		for _, p := range f.programs {
			order[p.name] = len(order)
		}
	}
	slices.SortFunc(verdicts, func(a, b *verdict) int { return order[a.name] - order[b.name] })
	return verdicts, nil
}
