package main

import (
	"slices"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// exitDeadlock is gorun's exit code after a deadlock.
const exitDeadlock = 86

// Values of -on-deadlock.
const (
	deadlockEnd    = "end"
	deadlockReport = "report"
	deadlockIgnore = "ignore"
)

// stallDefault is -stall.
const stallDefault = time.Minute

// gather is the time for which reports are gathered before the next search: a rank that computes
// makes all others report at about the same time.
const gather = 100 * time.Millisecond

// retryMax bounds the time between two attempts to prove a deadlock.
const retryMax = 16 * time.Second

// attemptsMax is how many attempts in a row rely on what ranks have reported by themselves. A rank that waits as before
// may answer once that it is not stuck, because it has just handled something of the network's, and it reports the
// same wait no second time.
const attemptsMax = 5

// hang is the search for ranks that wait for each other. Ranks report by themselves that they
// have waited for long. If their reports together say that some can never go on, all are asked
// twice in a row. The second answers are a proof if the waits are those of the first, because a
// rank that is stuck cannot have sent anything in between, and what it sent before its first
// answer has been looked for before the second one of the others.
type hang struct {
	stalled map[int]bootstrap.Doing // the last report of each rank
	// suspecting says that all ranks are asked, twice in a row, because some look deadlocked;
	// suspects are the numbers of their waits in the first answers, nil before these.
	suspecting bool
	suspects   map[int]int64
	// retry is when the reports are searched: soon after one has come, as gathering says, or when
	// those that looked deadlocked, without a proof, are asked again, pause after the last time.
	retry     <-chan time.Time
	gathering bool
	pause     time.Duration
	// attempts are those without a proof since the last report of a rank.
	attempts int
	// shown says that a deadlock was reported.
	shown bool
	// stall ends when nothing may have moved for -stall; nil while no rank is known to wait.
	// stalling says that the ranks are asked about it.
	stall    <-chan time.Time
	stalling bool
}

// stalled takes the report of a rank that has waited for long.
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

// parseDoing is the report of a rank, which does not decide itself who it is.
func (j *job) parseDoing(r *rank, text string) (bootstrap.Doing, bool) {
	d, ok := bootstrap.ParseDoing(text)
	d.Rank, d.Size = r.number, len(j.ranks)
	return d, ok
}

// suspect asks the ranks again if some of them look deadlocked.
func (j *job) suspect() {
	h := &j.watch.hang
	h.gathering, h.retry = false, nil
	if j.watch.ending || j.watch.reports > 0 || h.shown || j.opts.onDeadlock == deadlockIgnore {
		return
	}
	list := make([]bootstrap.Doing, 0, len(h.stalled))
	for _, d := range h.stalled {
		d.Lanes = nil // of different times
		list = append(list, d)
	}
	if len(bootstrap.Deadlocked(list, len(j.ranks), j.left)) == 0 {
		return
	}
	h.suspecting = j.ask() > 0
}

// left reports whether a rank has left the job in order.
func (j *job) left(rank int) bool { return j.server.State(rank) == bootstrap.RankFinalized }

// stallEnded asks the ranks whether anything has moved for -stall.
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

// judge uses the reports for which suspect and stallEnded have asked.
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
	case suspects == nil && len(bootstrap.Deadlocked(list, len(j.ranks), j.left)) > 0:
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

// prove reports a deadlock, and ends the job for it, if the suspects wait as before.
func (j *job) prove(list []bootstrap.Doing, suspects map[int]int64) {
	proof := make([]bootstrap.Doing, len(list))
	for i, d := range list {
		if suspects[d.Rank] != d.Stuck {
			d.Stuck = 0
		}
		proof[i] = d
	}
	if len(bootstrap.Deadlocked(proof, len(j.ranks), j.left)) == 0 || j.watch.ending {
		return
	}
	j.watch.hang.shown = true
	dead := bootstrap.Deadlocked(list, len(j.ranks), j.left) // with those that wait for the proven ones
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

// stagnant reports once that nothing has moved for -stall, and that this is no proof.
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
