package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// dumpDelay bounds the wait for the reports that job.ask requests from the ranks.
const dumpDelay = time.Second

// quitAgain is the time after a SIGQUIT in which gorun passes a second SIGQUIT on to the ranks. The ranks
// then print their goroutines' stacks and end.
const quitAgain = time.Second

// news is an event of a rank, or the error that a frame of the rank is malformed.
type news struct {
	bootstrap.Event
	err error
}

// watch is the state of supervision.
type watch struct {
	running  int
	ending   bool              // the ranks have been asked to end
	kill     <-chan time.Time  // fires when the grace period is over
	dump     <-chan time.Time  // fires when the wait for reports is over
	question int               // number of the last request for reports
	reports  int               // how many reports are still awaited
	doing    []bootstrap.Doing // the reports that have arrived
	quit     time.Time         // when the last SIGQUIT came
	sigint   bool              // a SIGINT came
	shown    bool              // print the reports
	late     bool              // print reports that arrive after the wait, too
	hang     hang
	suspense suspense
	inspectors
}

// serve reads the frames of a rank until its socket ends.
func (j *job) serve(r *rank) {
	defer close(r.served)
	if err := j.server.Serve(r.number, r.conn); errors.Is(err, bootstrap.ErrMalformed) {
		j.news <- news{Event: bootstrap.Event{Rank: r.number}, err: err}
	}
}

// observe sends the supervising goroutine the events on which it acts.
func (j *job) observe(e bootstrap.Event) {
	switch e.Kind {
	case bootstrap.EventAborted, bootstrap.EventReport, bootstrap.EventFailed, bootstrap.EventHandled, bootstrap.EventStalled:
		j.news <- news{Event: e}
	case bootstrap.EventJoined, bootstrap.EventFinalized:
		// Only the start of new spares needs one of these events (EventJoined), because reaped asks the server for
		// the state of a rank.
		if e.Kind == bootstrap.EventJoined && j.opts.spares > 0 {
			j.news <- news{Event: e}
		}
	}
}

// supervise returns when all ranks have ended.
func (j *job) supervise() {
	var timeout <-chan time.Time
	if j.opts.timeout > 0 {
		timeout = time.After(j.opts.timeout)
	}
	j.watch.running = len(j.ranks)
	j.openInspection()
	defer j.closeInspection()
	for j.watch.running > 0 {
		select {
		case x := <-j.node.exits:
			j.reaped(x)
		case h := <-j.lost:
			j.lostHost(h)
		case n := <-j.again:
			j.begun(n)
		case m := <-j.absent:
			j.missed(m)
		case v := <-j.visits.arrivals():
			j.visited(v)
		case <-j.homeless.late:
			j.roomMissing()
		case n := <-j.news:
			j.handle(n)
		case sig := <-j.sigs:
			j.signaled(sig)
		case <-timeout:
			j.timedOut()
		case <-j.watch.dump:
			j.dumpEnded()
		case q := <-j.watch.asked:
			j.inspected(q)
		case s := <-j.watch.seen:
			j.recorded(s)
		case <-j.watch.lookEnd:
			j.lookEnded()
		case <-j.watch.hang.stall:
			j.stallEnded()
		case <-j.watch.hang.retry:
			j.suspect()
		case <-j.watch.suspense.late:
			j.suspenseLate()
		case <-j.watch.kill:
			j.graceEnded()
		case err := <-j.out.broken:
			j.brokenOutput(err)
		}
	}
}

// reaped acts on the end of a rank or of a spare.
func (j *job) reaped(x exit) {
	r := x.rank
	switch {
	case r.number == noRank:
		j.spareReaped(x)
		return
	case !r.running():
		return // the rank was lost with its host before
	}
	for len(j.again) > 0 {
		j.begun(<-j.again) // the rank may be one of those that the host has reported as started
	}
	j.settle(r)
	r.ended, r.status, r.usage = x.at, x.status, x.usage
	r.joined = r.joined || j.server.State(r.number) > bootstrap.RankStarted
	r.clean = r.code() == 0 && j.server.State(r.number) != bootstrap.RankJoined
	r.absent = r.clean && !r.joined && !j.watch.ending // else the signal to end may have come first
	j.watch.running--
	r.last = r.closeRecord(x)
	if r.remote == nil {
		if err := r.conn.Close(); err != nil {
			j.say("rank %d: %v", r.number, err)
		}
	}
	if !r.clean && (!j.watch.ending || j.verdict.interrupt != 0) {
		code := r.code()
		if code == 0 {
			code = 1
		}
		if j.verdict.interrupt != 0 && r.status.Signaled() && r.status.Signal() == unix.SIGKILL {
			code = exitSignalOffset + int(j.verdict.interrupt) // gorun has killed the rank (graceEnded or a second SIGINT)
		}
		f := j.failure(r, code)
		if j.respawn([]*rank{r}, &f) {
			return
		}
		j.failed(f, r.lostWith())
	}
	if r.clean && r == j.watch.suspense.of {
		j.end() // this rank is not to blame
	}
	j.gone(r)
}

// failed records a failure. With -on-failure continue, the other ranks go on, and failed prints the parameter what,
// which describes the failure. Otherwise failed ends the job.
func (j *job) failed(f failure, what string) {
	f.continued = j.opts.onFailure == bootstrap.OnFailureContinue
	j.verdict.blame(f)
	if f.continued {
		complain("%s; the others go on", what)
	} else {
		j.endKnowing(nil)
	}
}

// handle acts on an event of a rank.
func (j *job) handle(n news) {
	r := j.ranks[n.Rank]
	switch {
	case n.err != nil:
		j.verdict.blame(failure{rank: n.Rank, code: exitLauncher, ended: []*rank{r}, how: "broke the protocol: " + n.err.Error()})
		r.signal(unix.SIGKILL)
		j.end()
	case n.Kind == bootstrap.EventJoined:
		j.joined()
	case n.Kind == bootstrap.EventReport:
		j.reported(r, n.Code, n.Text)
	case n.Kind == bootstrap.EventStalled:
		j.stalled(r, n.Text)
	case n.Kind == bootstrap.EventFailed:
		j.failing(r, n.Event)
	case n.Kind == bootstrap.EventHandled:
		j.ranks[n.Code].handled = true
	case n.Kind == bootstrap.EventAborted && !j.watch.ending:
		code := n.Code & 0xff
		how := fmt.Sprintf("aborted the job with code %d", n.Code)
		if n.Text != "" {
			how += ": " + n.Text
		}
		j.verdict.blame(failure{rank: n.Rank, code: max(code, 1), ended: []*rank{r}, how: how})
		j.endKnowing(r)
	}
}

// end asks all ranks to end and starts the grace period.
func (j *job) end() { j.endExcept(nil) }

// endExcept does the same as end, but sends no signal to the rank in the parameter spared, which is about to end
// by itself. spared may be nil.
func (j *job) endExcept(spared *rank) {
	if j.watch.ending {
		return
	}
	for _, r := range j.ranks {
		if r != spared {
			r.signal(unix.SIGTERM)
			r.signal(unix.SIGCONT) // a stopped process would not handle it
		}
	}
	j.startGrace()
}

func (j *job) startGrace() {
	j.watch.ending = true
	j.forgetHomeless()
	j.tellGone()
	if j.watch.kill == nil {
		j.watch.kill = time.After(j.opts.grace)
	}
}

func (j *job) graceEnded() {
	j.say("grace of %v is over: killing %d ranks", j.opts.grace, j.watch.running)
	if err := j.killAll(); err != nil {
		complain("%v", err)
	}
}

func (j *job) timedOut() {
	if j.watch.ending {
		return
	}
	j.verdict.timeout = j.opts.timeout
	complain("timeout after %v; what the ranks are doing:", j.opts.timeout)
	j.watch.shown = true
	if j.ask() == 0 {
		complain("no rank has joined the job")
		j.end()
	}
}

// ask requests a report from every rank that has joined, and returns the number of these ranks. It no longer
// waits for the answers to an earlier request. The answers to this request also serve the requester of the
// earlier one.
func (j *job) ask() int {
	j.watch.question++
	j.watch.late = false
	asked := j.server.Dump(j.watch.question)
	for _, rank := range asked {
		j.ranks[rank].asked = j.watch.question
	}
	j.watch.doing, j.watch.reports = nil, len(asked)
	if j.watch.reports > 0 {
		j.watch.dump = time.After(dumpDelay)
	}
	return j.watch.reports
}

// reported handles the report of a rank. Reports that arrive during the wait are kept until dumpEnded is called.
func (j *job) reported(r *rank, question int, text string) {
	if question != j.watch.question || r.asked != question || r.answered == question {
		// The report is for an earlier request, or it is the second one for this request. Or the rank was not asked: a
		// relay passes a request on to all ranks of its node, also to those that joined after the request.
		return
	}
	r.answered = question
	d, ok := j.parseDoing(r, text)
	switch {
	case !ok && (j.watch.shown || j.watch.late):
		complain("%s", signed(r.number, text))
	case !ok: // a report that cannot be parsed could only be printed, but no reports are to be printed
	case j.watch.reports > 0:
		r.doing = &d
		j.watch.doing = append(j.watch.doing, d)
	default: // the report arrived after the wait
		r.doing = &d
		if j.watch.late {
			complain("%s", strings.TrimRight(d.String(), "\n"))
		}
	}
	if j.watch.reports > 0 {
		if j.watch.reports--; j.watch.reports == 0 {
			j.dumpEnded()
		}
	}
}

// dumpEnded ends the wait for reports. If the reports are to be printed, it prints the reports that have
// arrived. After a timeout, it ends the job.
func (j *job) dumpEnded() {
	j.watch.dump = nil
	doing := j.watch.doing
	j.watch.late = j.watch.shown
	j.watch.doing, j.watch.reports = nil, 0
	if j.watch.shown {
		j.watch.shown = false
		if len(doing) > 0 {
			complain("%s", strings.TrimRight(bootstrap.Together(doing), "\n"))
		}
		if silent := j.silent(); len(silent) > 0 {
			j.tellSilent(silent)
		}
	}
	j.answerInspectors(doing) // before judge, which may ask a question that no rank has answered yet
	j.judge(doing)
	if j.verdict.timeout > 0 {
		j.end()
	}
}

// brokenOutput ends a job whose output cannot be written.
func (j *job) brokenOutput(err error) {
	if errors.Is(err, unix.EPIPE) {
		if j.verdict.first == nil {
			j.verdict.silent = true
		}
		j.verdict.blame(failure{rank: -1, code: exitSignalOffset + int(unix.SIGPIPE), how: "the reader of the output is gone"})
	} else {
		j.verdict.blame(failure{rank: -1, code: exitLauncher, how: "output lost: " + err.Error()})
	}
	j.end()
}

// signaled acts on a signal to gorun.
func (j *job) signaled(sig os.Signal) {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return
	}
	switch s {
	case unix.SIGINT, unix.SIGTERM, unix.SIGHUP:
		j.interrupted(s)
	case unix.SIGQUIT:
		last := j.watch.quit
		if j.watch.quit = time.Now(); time.Since(last) < quitAgain {
			j.interrupted(s)
			return
		}
		j.watch.shown = true
		complain("what the ranks are doing (%d of %d have joined):", j.ask(), len(j.ranks))
	case unix.SIGTSTP:
		j.pass(s)
		j.pause()
		// gorun stops itself with SIGSTOP, because it catches SIGTSTP. A gorun in a PID namespace asks the gorun
		// outside to stop both.
		j.node.stop()
	case unix.SIGCONT:
		for _, h := range j.hosts {
			h.conn.Resume()
		}
		j.pass(s)
	case unix.SIGPIPE: // the write that caused it has returned an error
	default:
		j.pass(s)
	}
}

// pass sends a signal on to every rank.
func (j *job) pass(s syscall.Signal) {
	for _, r := range j.ranks {
		r.signal(s)
	}
}

// interrupted ends the job because of a signal. A second SIGINT kills the ranks at once, for whatever reason the
// job ends.
func (j *job) interrupted(s syscall.Signal) {
	if s == unix.SIGINT && j.watch.sigint {
		j.say("second SIGINT: killing %d ranks", j.watch.running)
		if err := j.killAll(); err != nil {
			complain("%v", err)
		}
		return
	}
	j.watch.sigint = j.watch.sigint || s == unix.SIGINT
	if j.verdict.interrupt == 0 && j.verdict.first == nil && j.verdict.timeout == 0 {
		j.verdict.interrupt = s
	}
	j.pass(s)
	j.pass(unix.SIGCONT)
	j.startGrace()
}
