package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// job is one run of gorun, from the command line to the exit code.
type job struct {
	opts    *options
	id      string // unique on this machine
	cpus    []int  // allowed to gorun
	ranks   []*rank
	contain containment
	scratch string // directory of what was built, "" if nothing was
	dog     *watchdog

	server *bootstrap.Server
	out    *output
	stdin  *stdinFeed
	news   chan news
	exits  chan exit
	sigs   chan os.Signal

	started time.Time
	verdict verdict
	watch   watch // the supervising goroutine's own
}

// newJob prepares a job. inside says that this gorun is process 1 of a PID
// namespace made for the job; scratch is then that of the one outside.
func newJob(o *options, scratch string, inside bool) (*job, error) {
	salt, err := bootstrap.NewSecret()
	if err != nil {
		return nil, err
	}
	j := &job{opts: o, id: fmt.Sprintf("%d-%x", os.Getpid(), salt[:4]), scratch: scratch, started: time.Now()}
	for i := range o.apps {
		a := &o.apps[i]
		if a.wdir != "" {
			if st, err := os.Stat(a.wdir); err != nil || !st.IsDir() {
				return nil, fmt.Errorf("-wdir %s is not a directory", a.wdir)
			}
		}
		for range a.ranks {
			j.ranks = append(j.ranks, &rank{number: len(j.ranks), app: a})
		}
	}
	if j.cpus, err = allowedCPUs(); err != nil {
		return nil, err
	}
	for i, r := range j.ranks {
		r.cpus = j.cpus
		if o.bindTo == bindCore {
			r.cpus = j.cpus[i%len(j.cpus) : i%len(j.cpus)+1]
		}
	}
	if j.contain, err = newContainment(j.id, inside); err != nil {
		return nil, err
	}
	return j, nil
}

// launch runs the job and returns its exit code. args is the command line,
// should another gorun have to do it.
func (j *job) launch(args []string) (code int, err error) {
	defer func() { err = errors.Join(err, j.cleanUp()) }()
	if err := j.guard(); err != nil {
		return 0, err
	}
	if _, ok := j.contain.(outside); ok {
		code, err := relaunch(args, j.scratch)
		if err == nil || os.Getenv(containEnv) != "" {
			return code, err
		}
		if err := j.fallBack(scan{id: j.id}, err); err != nil {
			return 0, err
		}
	}
	j.say("job %s, %d ranks, contained by %s", j.id, len(j.ranks), j.contain.name())
	if err := j.findPrograms(); err != nil {
		return 0, err
	}
	return j.run()
}

// findPrograms finds or builds the executable of every rank.
func (j *job) findPrograms() error {
	p := &programs{scratch: j.scratch, built: map[string]string{}, say: j.say}
	for i, r := range j.ranks {
		if i > 0 && j.ranks[i-1].app == r.app {
			r.path = j.ranks[i-1].path
			continue
		}
		var err error
		if r.path, err = p.find(r.app.program); err != nil {
			return err
		}
	}
	return nil
}

// guard makes the containment and the scratch directory, if something will be
// built. The watchdog is told first, so that it knows whatever there is.
func (j *job) guard() error {
	if _, inside := j.contain.(namespace); inside {
		return nil // the gorun outside has done it
	}
	builds := slices.ContainsFunc(j.opts.apps, func(a app) bool { return needsBuild(a.program) })
	if builds {
		j.scratch = filepath.Join(os.TempDir(), scratchPrefix+j.id)
	}
	if err := j.startWatchdog(); err != nil {
		return err
	}
	if builds {
		if err := os.Mkdir(j.scratch, 0o700); err != nil {
			return err
		}
	}
	err := j.contain.make()
	if err == nil || os.Getenv(containEnv) != "" {
		return err
	}
	return j.fallBack(outside{}, err)
}

// fallBack takes the next containment after one that does not work.
func (j *job) fallBack(next containment, cause error) error {
	j.say("not contained by %s: %v", j.contain.name(), cause)
	j.contain = next
	if err := j.startWatchdog(); err != nil {
		return err
	}
	return j.contain.make()
}

// startWatchdog starts the watchdog with the orders of the containment, if
// there is something to watch over. One with other orders is dismissed.
func (j *job) startWatchdog() error {
	orders := j.contain.orders()
	if j.scratch != "" {
		orders = append(orders, "-scratch", j.scratch)
	}
	if len(orders) == 0 {
		return nil
	}
	old := j.dog
	var err error
	if j.dog, err = startWatchdog(orders); err != nil {
		return err
	}
	if old != nil {
		return old.dismiss()
	}
	return nil
}

// cleanUp removes what the job made outside of its processes.
func (j *job) cleanUp() error {
	err := j.contain.remove()
	if _, inside := j.contain.(namespace); inside {
		return err
	}
	if j.scratch != "" {
		err = errors.Join(err, os.RemoveAll(j.scratch))
	}
	if j.dog != nil && err == nil { // else it tries again
		err = j.dog.dismiss()
	}
	return err
}

// run starts the ranks and sees them through.
func (j *job) run() (int, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("become the reaper of orphans: %w", err)
	}
	var err error
	if j.out, err = newOutput(j.opts, len(j.ranks)); err != nil {
		return 0, err
	}
	s, err := newSpawner(j)
	if err != nil {
		return 0, err
	}
	s.inherit, j.stdin = newStdin(j.opts.stdin)
	j.news = make(chan news, len(j.ranks))
	j.exits = make(chan exit, len(j.ranks))
	j.server = bootstrap.NewServer(len(j.ranks), j.hear)
	j.sigs = catchSignals()
	began := time.Now()
	if err := errors.Join(s.start(), s.close()); err != nil {
		return 0, errors.Join(err, j.killAll())
	}
	j.say("started in %v", time.Since(began).Round(100*time.Microsecond))
	j.reportStart()
	if err := j.out.run(func(rank int) int { return j.ranks[rank].pid }); err != nil {
		return 0, errors.Join(err, j.killAll())
	}
	if j.stdin != nil {
		j.stdin.run()
	}
	j.supervise()
	return j.conclude()
}

// conclude ends what outlived the ranks, waits for the output and reports.
func (j *job) conclude() (int, error) {
	err := j.contain.kill()
	j.drain()
	if e := j.out.failure(); e != nil {
		j.brokenOutput(e)
	}
	code := j.verdict.code()
	if text := j.verdict.text(j); text != "" {
		complain("%s", text)
	}
	if j.opts.report != "" {
		err = errors.Join(err, writeReport(j, code))
	}
	if err != nil && code == 0 {
		return exitLauncher, err
	}
	if err != nil {
		complain("%v", err)
	}
	return code, nil
}

// drain waits for the output of the ranks to be written. Whoever reads it may
// take as long as it wants, but an interrupt ends the wait.
func (j *job) drain() {
	done := make(chan struct{})
	go func() {
		j.out.finish()
		close(done)
	}()
	for {
		select {
		case <-done:
			return
		case sig := <-j.sigs:
			if sig == unix.SIGINT || sig == unix.SIGTERM {
				return
			}
		}
	}
}

// killAll kills every process of the job at once.
func (j *job) killAll() error {
	for _, r := range j.ranks {
		r.signal(unix.SIGKILL)
	}
	return j.contain.kill()
}

// say prints with -v.
func (j *job) say(format string, args ...any) {
	if j.opts.verbose {
		complain(format, args...)
	}
}

// reportStart prints what -v and -report-bindings ask for.
func (j *job) reportStart() {
	for _, r := range j.ranks {
		j.say("rank %d is process %d: %s", r.number, r.pid, r.path)
		if j.opts.reportBindings {
			bound := "not bound, may run on"
			if j.opts.bindTo == bindCore {
				bound = "bound to"
			}
			complain("rank %d is %s processor %s", r.number, bound, cpuList(r.cpus))
		}
	}
}
