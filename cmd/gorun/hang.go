package main

import (
	"slices"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// exitDeadlock is gorun's exit code if it ends the job because of a deadlock.
const exitDeadlock = 86

// Values of -on-deadlock.
const (
	deadlockEnd    = "end"
	deadlockReport = "report"
	deadlockIgnore = "ignore"
)

// stallDefault is the default of -stall.
const stallDefault = time.Minute

// gather is how long the launcher collects reports before job.suspect examines them. If one rank computes for a
// long time, all other ranks report at about the same time.
const gather = 100 * time.Millisecond

// retryMax is the longest pause between two attempts to prove a deadlock.
const retryMax = 16 * time.Second

// attemptsMax is a number of consecutive failed attempts to prove a deadlock. A rank that still waits may
// answer that it is not stuck, because it has just handled a message of the network. Until attemptsMax attempts
// have failed, the launcher ignores such an answer and keeps the report that the rank has sent by itself. The
// launcher needs this report, because a rank reports by itself only once until its waits change.
const attemptsMax = 5

// hang is the state of the search for ranks that wait for each other. A rank reports by itself when it has
// been waiting for a long time. If the reports together suggest that some ranks can never continue, the
// launcher asks all ranks twice in a row. The second answers prove a deadlock if the numbers of the waits
// (Doing.Stuck) are the same in both answers. In this case, a stuck rank has sent nothing between its two
// answers. Messages that it sent before its first answer do not change the result. The other ranks receive
// these messages before they give their second answers, because they poll first.
type hang struct {
	stalled map[int]bootstrap.Doing // the last report of each rank that has reported by itself
	// suspecting is true while the launcher asks all ranks twice in a row, because some of them look
	// deadlocked. suspects maps each rank to Doing.Stuck of its first answer. suspects is nil until these
	// answers have arrived.
	suspecting bool
	suspects   map[int]int64
	// retry fires when suspect has to examine the reports. If gathering is true, retry fires when the constant
	// gather has passed since a report arrived. If gathering is false, it fires when the duration pause has
	// passed since the last attempt, which did not prove a deadlock.
	retry     <-chan time.Time
	gathering bool
	pause     time.Duration
	// attempts is the number of attempts that proved no deadlock since a rank last reported by itself.
	attempts int
	// shown is true after a deadlock was reported.
	shown bool
	// stall fires when the launcher has to check for a stall. A job is stalled if a rank waits, and Doing.Quiet of
	// every rank that has not finished is at least the time of -stall. stall is nil at first and after it has fired. It
	// is set when a rank reports by itself, unless -stall is off, and when the check has to be repeated. stalling is
	// true while the launcher asks the ranks for this check.
	stall    <-chan time.Time
	stalling bool
}

// stalled records the report of a rank that has been waiting for a long time.
func (j *job) stalled(r *rank, text string) {
	d, ok := j.parseDoing(r, text)
	if !ok {
		return
	}
	h := &j.watch.hang
	if h.stalled == nil {
		h.stalled = map[int]bootstrap.Doing{}
	}
	h.stalled[r.number], h.attempts = d, 0
	if h.stall == nil && j.opts.stall > 0 {
		h.stall = time.After(j.opts.stall)
	}
	if !h.gathering {
		h.gathering, h.retry = true, time.After(gather)
	}
}

// parseDoing parses the report of a rank. The rank could have falsified its number and the size of the job in
// the report. parseDoing therefore sets these two fields to the true values.
func (j *job) parseDoing(r *rank, text string) (bootstrap.Doing, bool) {
	d, ok := bootstrap.ParseDoing(text)
	d.Rank, d.Size = r.number, len(j.ranks)
	return d, ok
}

// suspect examines the last reports (hang.stalled) of the ranks that have reported by themselves. If some ranks
// look deadlocked, it asks all ranks.
func (j *job) suspect() {
	h := &j.watch.hang
	h.gathering, h.retry = false, nil
	if j.watch.ending || j.watch.reports > 0 || h.shown || j.opts.onDeadlock == deadlockIgnore {
		return
	}
	list := make([]bootstrap.Doing, 0, len(h.stalled))
	for _, d := range h.stalled {
		d.Lanes = nil // the lanes of the reports cannot be compared, because the reports are from different times
		list = append(list, d)
	}
	if len(bootstrap.Deadlocked(list, len(j.ranks))) == 0 {
		return
	}
	h.suspecting = j.ask() > 0
}

// stallEnded asks the ranks for reports, in order to check for a stall.
func (j *job) stallEnded() {
	h := &j.watch.hang
	h.stall = nil
	switch {
	case j.watch.ending:
	case j.watch.reports > 0: // the ranks are being asked for another reason
		h.stall = time.After(dumpDelay)
	default:
		h.stalling = j.ask() > 0
	}
}

// judge evaluates the reports that the ranks have sent after a call of ask, also if neither suspect nor stallEnded has
// called ask.
func (j *job) judge(list []bootstrap.Doing) {
	h := &j.watch.hang
	for _, d := range list {
		if _, stalled := h.stalled[d.Rank]; stalled && (d.Stuck != 0 || h.attempts >= attemptsMax) {
			h.stalled[d.Rank] = d
		}
	}
	if stalling := h.stalling; stalling {
		h.stalling = false
		j.stagnant(list)
	}
	suspects := h.suspects
	h.suspects = nil
	switch {
	case !h.suspecting:
		j.suspect() // a report may have come while the ranks were being asked
		return
	case suspects == nil && len(bootstrap.Deadlocked(list, len(j.ranks))) > 0:
		h.suspects = map[int]int64{}
		for _, d := range list {
			h.suspects[d.Rank] = d.Stuck
		}
		if j.ask() > 0 {
			return
		}
	case suspects != nil:
		j.prove(list, suspects)
	}
	h.suspecting, h.suspects = false, nil
	if !h.shown {
		h.attempts++
		h.pause = min(max(2*h.pause, gather), retryMax)
		h.gathering, h.retry = false, time.After(h.pause)
	}
}

// prove compares list, which has the second answers, with suspects. A rank whose Doing.Stuck differs does
// not count as stuck. If ranks are still deadlocked, prove reports the deadlock, and ends the job if
// -on-deadlock allows that.
func (j *job) prove(list []bootstrap.Doing, suspects map[int]int64) {
	proof := make([]bootstrap.Doing, len(list))
	for i, d := range list {
		if suspects[d.Rank] != d.Stuck {
			d.Stuck = 0
		}
		proof[i] = d
	}
	if len(bootstrap.Deadlocked(proof, len(j.ranks))) == 0 || j.watch.ending {
		return
	}
	j.watch.hang.shown = true
	dead := bootstrap.Deadlocked(list, len(j.ranks)) // also has ranks that wait for the deadlocked ranks of proof
	var stuck []bootstrap.Doing
	for _, d := range list {
		if d.Finished || slices.Contains(dead, d.Rank) {
			stuck = append(stuck, d)
		}
	}
	how := "deadlock: " + bootstrap.Summary(stuck)
	complain("%s\nwhat the ranks are doing:\n%s", how, strings.TrimRight(bootstrap.Entries(list), "\n"))
	if j.opts.onDeadlock == deadlockEnd {
		j.verdict.blame(failure{rank: -1, code: exitDeadlock, how: how, told: "the deadlock above"})
		j.end()
	}
}

// stagnant prints a message if the job is stalled (see hang.stall). The job goes on, because this does not prove a
// deadlock. If a rank waits, but Doing.Quiet of some rank is less than the time of -stall, stagnant restarts the
// timer with the rest of that time.
func (j *job) stagnant(list []bootstrap.Doing) {
	waiting, quiet := false, j.opts.stall.Seconds()
	for _, d := range list {
		if !d.Finished {
			waiting = waiting || len(d.Waits) > 0
			quiet = min(quiet, d.Quiet)
		}
	}
	left := j.opts.stall - time.Duration(quiet*float64(time.Second))
	switch {
	case !waiting:
	case left > 0:
		j.watch.hang.stall = time.After(left)
	default:
		complain("nothing has moved for %v: %s\nthe job goes on (-stall D changes this time); what the ranks are doing:\n%s",
			j.opts.stall, bootstrap.Summary(list), strings.TrimRight(bootstrap.Together(list), "\n"))
	}
}

func setOnDeadlock(o *options, _ *app, v string) error {
	return setOneOf(&o.onDeadlock, v, deadlockEnd, deadlockReport, deadlockIgnore)
}

// setStall reads -stall.
func setStall(o *options, _ *app, v string) error {
	if v == "off" {
		o.stall = 0
		return nil
	}
	return setDuration(&o.stall, v)
}
