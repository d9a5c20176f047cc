package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// patience is the timeout of a job. It is needed because jobs of MPICH have hung in this benchmark.
const patience = 30 * time.Second

// attempts is the number of failures of a job after which the job is not started again.
const attempts = 3

// sample contains the measurements of one job of a system.
type sample struct {
	system, program string
	times           []time.Duration
	used            []time.Duration // processor time, for the runs in which it is known
	failed          int
	said            string // output of the last run that failed
}

// results contains the samples of all jobs, in the order in which the first round ran the jobs.
type results []sample

// of returns the sample of a job. If there is no sample yet, it appends an empty sample.
func (r *results) of(system, program string) *sample {
	for i := range *r {
		if s := &(*r)[i]; s.system == system && s.program == program {
			return s
		}
	}
	*r = append(*r, sample{system: system, program: program})
	return &(*r)[len(*r)-1]
}

// measure runs a job once. It does nothing if the job has failed too often.
func (r *results) measure(ctx context.Context, s site, j job) {
	if r.of(j.system, j.program).failed == attempts {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	line := slices.Concat(s.inside, j.line)
	c := exec.CommandContext(ctx, line[0], line[1:]...)
	var said bytes.Buffer
	c.Stdout, c.Stderr, c.Env, c.WaitDelay = &said, &said, append(os.Environ(), j.env...), time.Second
	before, known := s.processor()
	began := time.Now()
	err := c.Run()
	took, to := time.Since(began), r.of(j.system, j.program)
	after, _ := s.processor()
	if err != nil {
		if s.clear != nil {
			s.clear() // ranks that are left and poll would slow down all following jobs
		}
		to.failed, to.said = to.failed+1, fmt.Sprintf("%v: %s", err, said.String())
		return
	}
	to.times = append(to.times, took)
	if known {
		to.used = append(to.used, after-before)
	}
}

// processor returns the processor time that all hosts have used so far, and whether it is known.
func (s site) processor() (time.Duration, bool) {
	if s.used == nil {
		return 0, false
	}
	return s.used()
}

// median returns the median of some times. If their number is even, it returns the lower of the two middle
// times.
func median(times []time.Duration) time.Duration {
	times = slices.Sorted(slices.Values(times))
	return times[(len(times)-1)/2]
}

// table returns a table of the medians, and of their ratios to the median of ssh alone.
func (r *results) table(hosts, ppn, rounds int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %d hosts, %d ranks each, %d rounds in turn, load %s\n", hosts, ppn, rounds, load())
	fmt.Fprintf(&b, "%-16s %-8s %10s %10s %8s %12s\n", "", "program", "median ms", "least ms", "to ssh", "processor ms")
	alone := r.of(bare.name, "true")
	for _, s := range *r {
		if len(s.times) == 0 {
			fmt.Fprintf(&b, "%-16s %-8s failed: %.300s\n", s.system, s.program, s.said)
			continue
		}
		ratio := "-"
		if len(alone.times) > 0 {
			ratio = fmt.Sprintf("%.2f", float64(median(s.times))/float64(median(alone.times)))
		}
		used := "-"
		if len(s.used) > 0 {
			used = fmt.Sprintf("%.0f", 1e3*median(s.used).Seconds())
		}
		fmt.Fprintf(&b, "%-16s %-8s %10.0f %10.0f %8s %12s", s.system, s.program, 1e3*median(s.times).Seconds(), 1e3*slices.Min(s.times).Seconds(), ratio, used)
		if s.failed > 0 {
			fmt.Fprintf(&b, "   %d of %d failed or took more than %v", s.failed, s.failed+len(s.times), patience)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// load returns the load average of the machine over one minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
