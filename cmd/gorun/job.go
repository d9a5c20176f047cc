package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// job is one run of gorun, from the command line to the exit code.
type job struct {
	opts  *options
	id    string // unique on this machine
	ranks []*rank
	node  *node   // this machine's part of the job, without ranks if there are hosts
	hosts []*host // the hosts whose agents run the ranks; nil if this process runs the ranks itself
	kept  []*host // the subset of hosts whose agents run ranks, or may run ranks in a later generation
	files *files  // the files that are compared with the files of the hosts

	failures failures // failures of hosts that occur before the ranks run

	server *bootstrap.Server
	out    *output
	stdin  *stdinFeed // copies standard input to ranks of this machine, or nil
	input  []*host    // the hosts to which standard input is sent
	salt   [32]byte   // the salt of the secret, for pods
	news   chan news
	lost   chan *host
	again  chan renewal // answers of agents about a new generation
	absent chan absence // reports of agents about spares that have ended or could not be started
	sigs   chan os.Signal

	started time.Time
	verdict verdict
	said    refrains
	watch   watch // only the supervising goroutine uses watch, except for the channels in it
	// Only the supervising goroutine uses restarts.
	restarts restarts
	visits   *visits // pods that connect, nil if no more pods are accepted
	homeless homeless
	orders   link.Plan // the part that the plans of all hosts have in common
}

// newJob prepares a job. inside is true if this gorun is process 1 of a PID namespace that another gorun has
// made for the job. scratch is then the scratch directory of that other gorun.
func newJob(o *options, scratch string, inside bool) (*job, error) {
	if o.report != "" {
		if err := checkReport(o.report); err != nil {
			return nil, err
		}
	}
	j := &job{opts: o, id: newID(), started: time.Now()}
	for i := range o.apps {
		a := &o.apps[i]
		if a.wdir != "" && len(o.hosts) == 0 {
			if st, err := os.Stat(a.wdir); err != nil || !st.IsDir() {
				return nil, fmt.Errorf("-wdir %s is not a directory", a.wdir)
			}
		}
		for range a.ranks {
			j.ranks = append(j.ranks, &rank{number: len(j.ranks), app: a, host: hostname()})
		}
	}
	var contain containment = outside{} // with hosts, this process starts no ranks
	var err error
	if len(o.hosts) == 0 {
		if contain, err = newContainment(j.id, inside); err != nil {
			return nil, err
		}
	}
	if j.node, err = newNode(j.id, contain); err != nil {
		return nil, err
	}
	j.node.scratch, j.node.say = scratch, j.say
	if len(o.hosts) == 0 {
		j.node.assign(j.ranks, o.bindTo)
	} else {
		j.node.exits = make(chan exit, len(j.ranks))
		j.place()
		if err := j.dealSpares(); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// newID returns a name that is unique on this machine.
func newID() string {
	salt := bootstrap.NewSecret()
	return fmt.Sprintf("%d-%x", os.Getpid(), salt[:4])
}

// launch runs the job and returns its exit code. If another gorun has to run the job, args is the command line
// of that gorun.
func (j *job) launch(args []string) (code int, err error) {
	if j.opts.dryRun {
		return 0, j.dryRun()
	}
	defer func() { err = errors.Join(err, j.node.cleanUp()) }()
	builds := j.findGoCode()
	if !builds && (j.opts.race || len(j.opts.buildFlags) > 0) {
		return 0, fmt.Errorf("-race and -build-flags are for Go code that gorun builds, and %s is a program already", j.opts.apps[0].program)
	}
	if err := j.node.guard(builds); err != nil {
		return 0, err
	}
	if len(j.hosts) > 0 {
		j.say("job %s, %d ranks, %d hosts", j.id, len(j.ranks), len(j.hosts))
	} else {
		here, code, err := j.node.contained(args)
		if !here || err != nil {
			return code, err
		}
		j.say("job %s, %d ranks, contained by %s", j.id, len(j.ranks), j.node.contain.name())
	}
	if err := j.findPrograms(); err != nil {
		return 0, err
	}
	return j.run()
}

// findGoCode finds out which programs gorun has to build, and reports whether there are any. needsBuild may run the
// go command. Therefore findGoCode calls it only once for each app, and not at all in a gorun inside (insideCommand)
// if the gorun outside has found no program to build.
func (j *job) findGoCode() bool {
	if _, inside := j.node.contain.(namespace); inside && j.node.scratch == "" {
		return false
	}
	found := false
	for i := range j.opts.apps {
		a := &j.opts.apps[i]
		a.goCode = needsBuild(a.program)
		found = found || a.goCode
	}
	return found
}

// findPrograms finds or builds the executable of every rank.
func (j *job) findPrograms() error {
	p := &programs{scratch: j.node.scratch, built: map[string]string{}, say: j.say, flags: j.opts.buildFlags}
	if j.opts.race {
		p.flags = append([]string{"-race"}, p.flags...)
	}
	for i, r := range j.ranks {
		if i > 0 && j.ranks[i-1].app == r.app {
			r.path = j.ranks[i-1].path
			continue
		}
		var err error
		if r.path, err = p.find(r.app); err != nil {
			return err
		}
	}
	return nil
}

// run starts the ranks and supervises them to their end.
func (j *job) run() (code int, err error) {
	defer func() { err = scarce(err, len(j.ranks)) }()
	if j.out, err = newOutput(j.opts, len(j.ranks)); err != nil {
		return 0, err
	}
	j.news = make(chan news, len(j.ranks))
	j.lost = make(chan *host, len(j.hosts))
	j.again, j.absent = make(chan renewal, len(j.hosts)), make(chan absence, len(j.hosts))
	j.watch.inspectors = newInspectors()
	j.server = bootstrap.NewServer(len(j.ranks), j.observe)
	secret, began := bootstrap.NewSecret(), time.Now()
	if j.opts.pods != nil { // the secret must not be visible on the network of the pods
		j.salt = secret
		if secret, err = saltedSecret(j.opts.pods, j.salt[:]); err != nil {
			return 0, err
		}
	}
	if len(j.hosts) > 0 {
		if err := j.reachHosts(secret); err != nil {
			return 0, errors.Join(err, j.dismiss(false))
		}
		j.sigs = catchSignals()
	} else if err := j.startHere(secret); err != nil {
		return 0, errors.Join(err, j.node.kill())
	}
	j.say("started in %v", time.Since(began).Round(100*time.Microsecond))
	j.reportStart()
	if err := j.out.run(j.ranks); err != nil {
		return 0, errors.Join(err, j.killAll())
	}
	for _, h := range j.hosts {
		h.readDone = make(chan struct{})
		go h.listen()
	}
	if j.stdin != nil {
		j.stdin.run()
	}
	if len(j.input) > 0 {
		go sendInput(j.input)
	}
	j.supervise()
	return j.conclude()
}

// startHere starts the ranks on this machine.
func (j *job) startHere(secret [32]byte) error {
	if err := adopt(); err != nil {
		return err
	}
	self, err := bootstrap.ThisNode()
	if err != nil {
		return err
	}
	w := &wiring{input: j.inputHere(), serve: j.serve, merge: j.opts.mergeStderr, output: j.out.add}
	if j.out.passThrough {
		w.stdout = os.Stdout
	}
	j.sigs = catchSignals()
	j.node.heeds()
	common := bootstrap.Job{Size: len(j.ranks), Nodes: 1, ID: j.id, Node: self, Host: hostname(), OnFailure: j.opts.onFailure}
	s, err := newSpawner(j.node, common, 1+j.opts.restarts, secret, append(rankEnviron(os.Environ()), j.opts.environ()...), w)
	if err != nil {
		return err
	}
	j.server.Shelve(s.shelf)
	err = s.start()
	if err == nil && j.opts.respawns() {
		err = s.unshare() // each generation has its own node memory
		w.input = inputAgain
		j.restarts.spawner = s // s keeps the state that the next start needs
	} else {
		err = errors.Join(err, s.close())
	}
	if err != nil {
		return err
	}
	j.node.beginReaping()
	j.restock()
	return nil
}

// inputHere decides how standard input reaches the ranks of this machine. If only one rank gets standard input,
// the rank may inherit it. Otherwise a feed (stdinFeed) copies standard input to the ranks, or no rank gets it.
func (j *job) inputHere() func(r *rank) (*os.File, bool, error) {
	only := j.opts.inputRank()
	inherit, feed := newStdin(j.opts.stdin, only)
	j.stdin = feed
	return func(r *rank) (*os.File, bool, error) {
		switch {
		case inherit != nil && r.number == only:
			return inherit, false, nil
		case feed != nil && feed.feeds(r.number):
			f, err := feed.pipe()
			return f, true, err
		}
		return nil, false, nil
	}
}

// conclude ends the processes that outlived the ranks, waits until all output is written, and reports the
// result of the job.
func (j *job) conclude() (int, error) {
	for _, h := range j.hosts {
		h.conn.Send(link.KindEnd)
	}
	err := errors.Join(j.node.contain.kill(), j.visits.close())
	whole := j.drain()
	if whole {
		j.blameCuts()
	}
	if e := j.out.failure(); e != nil {
		j.brokenOutput(e)
	}
	err = errors.Join(err, j.dismiss(whole))
	j.verdict.decide()
	code := j.verdict.code()
	for _, text := range j.said.counts() {
		complain("%s", text)
	}
	if text := j.verdict.text(j); text != "" {
		complain("%s", text+j.absentees())
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

// drain waits for the output of the ranks to be written. A slow reader may take any time, but an interrupt (SIGINT,
// SIGTERM or SIGHUP) ends the wait, and is a failure of the job because output is lost. The interrupt may also have
// come while the last rank ended. Therefore the wait continues for a short time after the interrupt. drain reports
// whether all output was written.
func (j *job) drain() bool {
	done := make(chan struct{})
	go func() {
		j.out.finish()
		close(done)
	}()
	for {
		select {
		case <-done:
			return true
		case sig := <-j.sigs:
			s, _ := sig.(syscall.Signal)
			switch s {
			case unix.SIGTSTP, unix.SIGCONT:
				j.signaled(s)
			case unix.SIGINT, unix.SIGTERM, unix.SIGHUP:
				select {
				case <-done:
					return true
				case <-time.After(2 * escapeDelay):
				}
				how := "interrupted by " + unix.SignalName(s) + " before all output was written"
				if j.verdict.first == nil && j.verdict.timeout == 0 {
					j.verdict.blame(failure{rank: -1, code: exitSignalOffset + int(s), how: how})
				} else {
					complain("%s", how)
				}
				return false
			default:
			}
		}
	}
}

// killAll kills every process of the job at once.
func (j *job) killAll() error {
	for _, h := range j.hosts {
		h.kill()
	}
	return j.node.kill()
}

// say prints a message if -v is given.
func (j *job) say(format string, args ...any) {
	if j.opts.verbose {
		complain(format, args...)
	}
}

// reportStart prints what -v and -report-bindings ask for.
func (j *job) reportStart() {
	for _, r := range j.ranks {
		where := ""
		if r.remote != nil {
			where = " on " + r.host
		}
		j.say("rank %d is process %d%s: %s", r.number, r.pid, where, r.path)
		if j.opts.reportBindings {
			bound := "not bound, may run on"
			if j.opts.bindTo != placement.None {
				bound = "bound to"
			}
			complain("rank %d is %s processor %s%s", r.number, bound, bootstrap.FormatRanks(r.cpus), where)
		}
	}
}
